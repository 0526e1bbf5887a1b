import os
import threading
from urllib.parse import urlsplit
from wsgiref.simple_server import make_server

from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, session

ISSUER = os.environ["ISSUER"]
ORIGIN = os.environ["ORIGIN"]

app = Flask(__name__)
app.secret_key = os.environ["SESSION_SECRET"]
app.config["SESSION_COOKIE_NAME"] = "app"  # the server at another port of localhost has a cookie "session"

oauth = OAuth(app)
oauth.register(
    "partner",
    client_id="web",
    client_secret=os.environ["CLIENT_SECRET"],
    server_metadata_url=f"{ISSUER}/.well-known/openid-configuration",
    client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256"},
)


@app.get("/sign-in")
def sign_in():
    return oauth.partner.authorize_redirect(f"{ORIGIN}/callback")


@app.get("/callback")
def callback():
    tokens = oauth.partner.authorize_access_token()
    said = tokens["userinfo"]  # of the ID token
    # people are found by their address here: only one that they have proved
    if said.get("email_verified") is True:
        session["person"] = {"name": said["name"], "email": said["email"]}
    return redirect("/")


@app.get("/")
def front():
    return session.get("person", {})


server = make_server("localhost", urlsplit(ORIGIN).port, app)
threading.Thread(target=server.serve_forever, daemon=True).start()

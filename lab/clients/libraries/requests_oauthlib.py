import base64
import hashlib
import os
import secrets
from urllib.parse import parse_qs, urlsplit

import requests
from oauthlib.oauth2 import BackendApplicationClient, WebApplicationClient
from requests_oauthlib import OAuth2Session

ISSUER = os.environ["ISSUER"]
AUTH = ("web", os.environ["CLIENT_SECRET"])
REDIRECT_URI = "https://client.example/callback"


# send the person to the URL, and keep "session" in their session
def start():
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    oauth = OAuth2Session("web", redirect_uri=REDIRECT_URI, scope=["read"])
    url, state = oauth.authorization_url(
        f"{ISSUER}/authorize", code_challenge=challenge, code_challenge_method="S256"
    )
    return {"url": url, "session": {"verifier": verifier, "state": state}}


# back at the redirect URI: current_url is the whole URL of the request
def finish(current_url, session):
    # the library does not compare it
    if parse_qs(urlsplit(current_url).query).get("iss") != [ISSUER]:
        raise ValueError("another issuer")
    oauth = OAuth2Session("web", redirect_uri=REDIRECT_URI, state=session["state"])
    return oauth.fetch_token(
        f"{ISSUER}/token",
        authorization_response=current_url,
        code_verifier=session["verifier"],
        auth=AUTH,
    )


def refresh(tokens):
    return OAuth2Session("web", token=tokens).refresh_token(f"{ISSUER}/token", auth=AUTH)


def machine():
    client = BackendApplicationClient("web", scope=["read"])
    return OAuth2Session(client=client).fetch_token(f"{ISSUER}/token", auth=AUTH)


def revoke(tokens):
    url, headers, body = WebApplicationClient("web").prepare_token_revocation_request(
        f"{ISSUER}/revoke", tokens["refresh_token"], "refresh_token"
    )
    requests.post(url, headers=headers, data=body, auth=AUTH).raise_for_status()

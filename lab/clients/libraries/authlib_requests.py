import os
from urllib.parse import parse_qs, urlsplit

from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session

ISSUER = os.environ["ISSUER"]


def new_session(**settings):
    return OAuth2Session(
        "web",
        os.environ["CLIENT_SECRET"],
        scope="read",
        redirect_uri="https://client.example/callback",
        code_challenge_method="S256",
        **settings,
    )


# send the person to the URL, and keep "session" in their session
def start():
    verifier = generate_token(48)
    url, state = new_session().create_authorization_url(f"{ISSUER}/authorize", code_verifier=verifier)
    return {"url": url, "session": {"verifier": verifier, "state": state}}


# back at the redirect URI: current_url is the whole URL of the request
def finish(current_url, session):
    # the library does not compare it
    if parse_qs(urlsplit(current_url).query).get("iss") != [ISSUER]:
        raise ValueError("another issuer")
    return new_session(state=session["state"]).fetch_token(
        f"{ISSUER}/token", authorization_response=current_url, code_verifier=session["verifier"]
    )


def refresh(tokens):
    return new_session(token=tokens).refresh_token(f"{ISSUER}/token")


def machine():
    return new_session().fetch_token(f"{ISSUER}/token", grant_type="client_credentials")


def revoke(tokens):
    new_session().revoke_token(f"{ISSUER}/revoke", tokens["refresh_token"]).raise_for_status()


def introspect(tokens):
    return new_session().introspect_token(f"{ISSUER}/introspect", tokens["access_token"]).json()

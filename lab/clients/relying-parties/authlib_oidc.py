import os

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oidc.core import CodeIDToken

ISSUER = os.environ["ISSUER"]
REDIRECT_URI = "https://client.example/callback"

metadata = requests.get(f"{ISSUER}/.well-known/openid-configuration").json()


def new_session(**settings):
    return OAuth2Session(
        "web",
        os.environ["CLIENT_SECRET"],
        scope="openid profile email",
        redirect_uri=REDIRECT_URI,
        code_challenge_method="S256",
        **settings,
    )


def read(id_token, nonce=None):
    keys = JsonWebKey.import_key_set(requests.get(metadata["jwks_uri"]).json())
    options = {"iss": {"values": [metadata["issuer"]]}, "aud": {"values": ["web"]}}
    claims = jwt.decode(
        id_token,
        keys,
        claims_cls=CodeIDToken,
        claims_options=options,
        claims_params={"nonce": nonce, "client_id": "web"},
    )
    claims.validate()
    return dict(claims)


def start():
    verifier, nonce = generate_token(48), generate_token(20)
    url, state = new_session().create_authorization_url(
        metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce
    )
    return {"url": url, "session": {"verifier": verifier, "state": state, "nonce": nonce}}


def finish(current_url, session):
    tokens = new_session(state=session["state"]).fetch_token(
        metadata["token_endpoint"], authorization_response=current_url, code_verifier=session["verifier"]
    )
    return {"tokens": tokens, "claims": read(tokens["id_token"], session["nonce"])}


def refresh(tokens):
    again = new_session(token=tokens).refresh_token(metadata["token_endpoint"])
    return {"tokens": again, "claims": read(again["id_token"])}


def userinfo(tokens, sub):
    return new_session(token=tokens).get(metadata["userinfo_endpoint"]).json()

import os

import jwt

keys = jwt.PyJWKClient(os.environ["KEYS_URL"])


def verify(token):
    if jwt.get_unverified_header(token).get("typ") != "at+jwt":
        raise jwt.InvalidTokenError("not an access token")
    return jwt.decode(
        token,
        keys.get_signing_key_from_jwt(token).key,
        algorithms=["ES256"],
        issuer=os.environ["ISSUER"],
        audience=os.environ["AUDIENCE"],
        options={"require": ["exp", "iss", "aud"]},
    )

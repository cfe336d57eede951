"""Signs and verifies webhooks by the Standard Webhooks specification, independently of the service.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

Reads a JSON object per line. A body is base64, since a signature covers its bytes.

    {"do": "sign", "secret", "id", "timestamp", "body"} prints {"signature"}
    {"do": "verify", "secret", "headers", "body", "now"} prints {"error"}, which is null for a valid webhook
"""

import base64
import binascii
import hashlib
import hmac
import json
import sys

PREFIX = "whsec_"
TOLERANCE_SECONDS = 5 * 60


class InvalidWebhook(Exception):
    pass


def key_of(secret):
    if not secret.startswith(PREFIX):
        raise InvalidWebhook("secret without prefix")
    try:
        return base64.b64decode(secret[len(PREFIX) :], validate=True)
    except binascii.Error:
        raise InvalidWebhook("secret is not base64") from None


def sign(secret, message_id, timestamp, body):
    content = b".".join([message_id.encode(), str(timestamp).encode(), body])
    digest = hmac.new(key_of(secret), content, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def verify(secret, headers, body, now):
    try:
        message_id = headers["webhook-id"]
        timestamp = int(headers["webhook-timestamp"])
        signatures = headers["webhook-signature"].split(" ")
    except (KeyError, ValueError):
        raise InvalidWebhook("missing or malformed header") from None
    if timestamp < now - TOLERANCE_SECONDS:
        raise InvalidWebhook("timestamp is too old")
    if timestamp > now + TOLERANCE_SECONDS:
        raise InvalidWebhook("timestamp is in the future")
    expected = sign(secret, message_id, timestamp, body).encode()
    # No early end: the time does not depend on which signature matches.
    matches = [hmac.compare_digest(signature.encode(), expected) for signature in signatures]
    if not any(matches):
        raise InvalidWebhook("no matching signature")


def respond(case):
    body = base64.b64decode(case["body"], validate=True)
    if case["do"] == "sign":
        return {"signature": sign(case["secret"], case["id"], case["timestamp"], body)}
    try:
        verify(case["secret"], case["headers"], body, case["now"])
    except InvalidWebhook as invalid:
        return {"error": str(invalid)}
    return {"error": None}


for line in sys.stdin:
    print(json.dumps(respond(json.loads(line))), flush=True)

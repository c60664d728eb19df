# python3 receiver.py: prints the events whose signatures are right. WEBHOOK_SECRET is the secret of the webhook.
import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

def is_signed(headers, body):
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest()).decode()
    timestamp = headers["webhook-timestamp"] or ""
    is_recent = timestamp.isdigit() and abs(time.time() - int(timestamp)) < 300
    return is_recent and any(hmac.compare_digest(expected, s) for s in (headers["webhook-signature"] or "").split(" "))

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        signed = is_signed(self.headers, body)
        # An event can come twice, with the same webhook-id. Store it before you respond, and do the work afterwards.
        if signed:
            print(self.headers["webhook-id"], json.loads(body)["type"], flush=True)
        self.send_response(204 if signed else 401)
        self.end_headers()

server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
print("ready", flush=True)
server.serve_forever()

#!/bin/sh
# The main job with nothing but curl: create, send, wait, ack, nack, dead letter, bytes both ways.
# Usage: walkthrough.sh http://127.0.0.1:8080
set -eu
URL=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n# %s\n' "$1"; }
# Without this header, what is sent is the message itself, whatever it is.
json='Content-Type: application/json'
api() { curl --silent --show-error --fail-with-body "$@"; }
# The receipt of the only message of an answer.
receipt() { sed -n 's/.*"receipt":"\([^"]*\)".*/\1/p'; }
expect() {
	case $2 in
	*"$1"*) printf '%s\n' "$2" ;;
	*) printf 'expected %s in: %s\n' "$1" "$2" >&2; exit 1 ;;
	esac
}

say 'A queue, and another one for what cannot be done'
expect '"name":"orders-dead"' "$(api -X PUT "$URL/v1/queues/orders-dead")"
expect '"name":"orders"' "$(api -X PUT "$URL/v1/queues/orders" \
	-d '{"dead_letter":{"queue":"orders-dead"},"retry":{"policy":"none","max_receives":2}}')"

say 'Send, twice the same: the key makes it count once'
expect '"id":' "$(api "$URL/v1/queues/orders/messages" -H "$json" -H 'Idempotency-Key: order-1' -d '{"body":"first order","attributes":{"customer":"42"}}')"
expect '"duplicate":true' "$(api "$URL/v1/queues/orders/messages" -H "$json" -H 'Idempotency-Key: order-1' -d '{"body":"first order","attributes":{"customer":"42"}}')"

say 'Receive and ack'
got=$(api -X POST "$URL/v1/queues/orders/receive?wait=20s")
expect '"body":"first order"' "$got"
expect '"ok":true' "$(api "$URL/v1/queues/orders/ack" -d "{\"receipts\":[\"$(echo "$got" | receipt)\"]}")"

say 'Wait for a message that is sent later'
api -X POST "$URL/v1/queues/orders/receive?wait=20s" >"$work/waited" &
waiting=$!
expect '"id":' "$(api "$URL/v1/queues/orders/messages" -H "$json" -d '{"body":"second order"}')"
wait "$waiting"
got=$(cat "$work/waited")
expect '"body":"second order"' "$got"

say 'Nack it, and once more: it is dead'
expect '"ok":true' "$(api "$URL/v1/queues/orders/nack" -d "{\"receipts\":[\"$(echo "$got" | receipt)\"],\"reason\":\"no stock\"}")"
got=$(api -X POST "$URL/v1/queues/orders/receive?wait=20s")
expect '"receives":2' "$got"
expect '"ok":true' "$(api "$URL/v1/queues/orders/nack" -d "{\"receipts\":[\"$(echo "$got" | receipt)\"],\"reason\":\"no stock\"}")"
got=$(api -X POST "$URL/v1/queues/orders-dead/receive?wait=20s")
expect '"origin":{"queue":"orders","reason":"no stock"' "$got"
expect '"ok":true' "$(api "$URL/v1/queues/orders-dead/ack" -d "{\"receipts\":[\"$(echo "$got" | receipt)\"]}")"

say 'Bytes as they are, both ways'
head -c 100000 /dev/urandom >"$work/photo.jpg"
expect '"id":' "$(api "$URL/v1/queues/orders/messages" -H 'Content-Type: image/jpeg' -H 'Dabba-Attr-Album: summer' --data-binary "@$work/photo.jpg")"
api -X POST "$URL/v1/queues/orders/receive" -H 'Accept: application/octet-stream' -D "$work/headers" -o "$work/received.jpg"
cmp "$work/photo.jpg" "$work/received.jpg"
tr -d '\r' <"$work/headers" | grep -i '^content-type: image/jpeg$'
tr -d '\r' <"$work/headers" | grep -i '^dabba-attr-album: summer$'
id=$(tr -d '\r' <"$work/headers" | sed -n 's/^[Dd]abba-[Rr]eceipt: //p')
api -X DELETE "$URL/v1/queues/orders/messages/$id"

say 'Nothing is left'
expect '"counts":{"ready":0,"leased":0,"delayed":0,"dead":0,"bytes":0}' "$(api "$URL/v1/queues/orders")"

"""All operations of SQS with boto3, and again in the Query protocol that its older versions spoke, signed by botocore.

Usage: boto.py URL [ACCESS_KEY_ID SECRET_ACCESS_KEY]. The server runs with --sqs-relaxed.
"""

import json
import sys
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree

import boto3
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

base = sys.argv[1]
key_id, secret = (sys.argv[2:4] + ["test", "test"])[:2] if len(sys.argv) > 2 else ("test", "test")
REGION = "us-east-1"
ARN = "arn:aws:sqs:us-east-1:000000000000:"


def expect(got, want, what):
    if got != want:
        raise SystemExit(f"{what}: got {got!r}, want {want!r}")


class Refused(Exception):
    """An error of the server, whatever protocol it came by."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Boto:
    """The protocol that boto3 speaks: JSON."""

    name = "json"

    def __init__(self):
        self.client = boto3.client(
            "sqs", endpoint_url=base, region_name=REGION, aws_access_key_id=key_id, aws_secret_access_key=secret,
            config=Config(retries={"max_attempts": 1}),
        )

    def call(self, operation, **parameters):
        method = "".join(("_" + c.lower()) if c.isupper() else c for c in operation).lstrip("_")
        try:
            return getattr(self.client, method)(**parameters)
        except ClientError as e:
            raise Refused(e.response["Error"]["Code"]) from e


class Query:
    """The Query protocol, by POST, or by GET with the signature in the query."""

    LISTS = {
        "AttributeNames": "AttributeName", "MessageAttributeNames": "MessageAttributeName", "TagKeys": "TagKey",
        "MessageSystemAttributeNames": "MessageSystemAttributeName", "AWSAccountIds": "AWSAccountId", "Actions": "ActionName",
    }
    MAPS = {
        "Attributes": ("Attribute", "Name", "Value"), "Tags": ("Tag", "Key", "Value"), "tags": ("Tag", "Key", "Value"),
        "MessageAttributes": ("MessageAttribute", "Name", "Value"),
    }
    # Of answers: the elements that repeat.
    REPEATED = {
        "QueueUrl": "QueueUrls", "Message": "Messages", "SendMessageBatchResultEntry": "Successful",
        "DeleteMessageBatchResultEntry": "Successful", "ChangeMessageVisibilityBatchResultEntry": "Successful",
        "BatchResultErrorEntry": "Failed", "ListMessageMoveTasksResultEntry": "Results",
    }

    def __init__(self, method):
        self.name = "query by " + method
        self.method = method

    def flatten(self, operation, parameters, prefix=""):
        flat = {}
        for name, value in parameters.items():
            if name in self.MAPS and isinstance(value, dict):
                entry, key_name, value_name = self.MAPS[name]
                for i, (key, item) in enumerate(value.items(), 1):
                    flat[f"{prefix}{entry}.{i}.{key_name}"] = key
                    at = f"{prefix}{entry}.{i}.{value_name}"
                    flat.update({f"{at}.{k}": v for k, v in item.items()} if isinstance(item, dict) else {at: item})
            elif name in self.LISTS:
                flat.update({f"{prefix}{self.LISTS[name]}.{i}": item for i, item in enumerate(value, 1)})
            elif name == "Entries":
                for i, entry in enumerate(value, 1):
                    flat.update(self.flatten(operation, entry, f"{operation}RequestEntry.{i}."))
            else:
                flat[prefix + name] = value
        return flat

    def call(self, operation, **parameters):
        flat = {"Action": operation, "Version": "2012-11-05", **self.flatten(operation, parameters)}
        body = urllib.parse.urlencode(flat)
        if self.method == "GET":
            request = AWSRequest("GET", base + "/?" + body)
            SigV4QueryAuth(Credentials(key_id, secret), "sqs", REGION).add_auth(request)
        else:
            request = AWSRequest("POST", base + "/", data=body, headers={"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"})
            SigV4Auth(Credentials(key_id, secret), "sqs", REGION).add_auth(request)
        raw = urllib.request.Request(request.url, None if self.method == "GET" else body.encode(), dict(request.headers), method=self.method)
        try:
            with urllib.request.urlopen(raw) as answer:
                document = answer.read()
        except urllib.error.HTTPError as e:
            document = ElementTree.fromstring(e.read())
            raise Refused(document.findtext(".//{*}Code")) from e
        result = ElementTree.fromstring(document).find("{*}" + operation + "Result")
        return {} if result is None else self.read(result, operation)

    def read(self, element, operation):
        out = {}
        for child in element:
            tag = child.tag.partition("}")[2] or child.tag
            if tag in ("Attribute", "Tag", "MessageAttribute"):
                key, value = child[0], child[1]
                out.setdefault(tag + "s", {})[key.text] = self.read(value, operation) if len(value) else (value.text or "")
            elif tag in self.REPEATED and (tag != "QueueUrl" or operation.startswith("List")):
                out.setdefault(self.REPEATED[tag], []).append(self.read(child, operation) if len(child) else child.text)
            else:
                out[tag] = self.read(child, operation) if len(child) else (child.text or "")
        return out


def refused(wire, code, operation, **parameters):
    try:
        wire.call(operation, **parameters)
    except Refused as e:
        expect(e.code, code, f"{wire.name}: {operation}")
        return
    raise SystemExit(f"{wire.name}: {operation} was not refused, want {code}")


def queues(wire, prefix):
    url = wire.call("CreateQueue", QueueName=prefix + "q", Attributes={"VisibilityTimeout": "45"})["QueueUrl"]
    expect(url, f"{base}/000000000000/{prefix}q", "queue URL")
    expect(wire.call("GetQueueUrl", QueueName=prefix + "q")["QueueUrl"], url, "URL by name")
    refused(wire, "QueueAlreadyExists", "CreateQueue", QueueName=prefix + "q", Attributes={"VisibilityTimeout": "46"})
    expect(wire.call("ListQueues", QueueNamePrefix=prefix + "q")["QueueUrls"], [url], "list")
    wire.call("SetQueueAttributes", QueueUrl=url, Attributes={"DelaySeconds": "0", "VisibilityTimeout": "30"})
    got = wire.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["VisibilityTimeout", "QueueArn"])["Attributes"]
    expect(got, {"VisibilityTimeout": "30", "QueueArn": ARN + prefix + "q"}, "attributes")
    wire.call("TagQueue", QueueUrl=url, Tags={"team": "a", "x": ""})
    wire.call("UntagQueue", QueueUrl=url, TagKeys=["x"])
    expect(wire.call("ListQueueTags", QueueUrl=url)["Tags"], {"team": "a"}, "tags")
    wire.call("AddPermission", QueueUrl=url, Label="l", AWSAccountIds=["111111111111"], Actions=["SendMessage"])
    policy = json.loads(wire.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["Policy"])["Attributes"]["Policy"])
    expect(policy["Statement"][0]["Sid"], "l", "policy")
    wire.call("RemovePermission", QueueUrl=url, Label="l")
    refused(wire, "AWS.SimpleQueueService.NonExistentQueue", "GetQueueUrl", QueueName=prefix + "none")
    return url


def messages(wire, url):
    body = 'a <b> & "c" \r\n\t ünï 🥡'
    sent = wire.call(
        "SendMessage", QueueUrl=url, MessageBody=body, MessageAttributes={"Foo": {"DataType": "String", "StringValue": "Bar"}}
    )
    expect(sent["MD5OfMessageAttributes"], "ae7155c6026991b6d54b11589678bf9c", "MD5 of the attributes")
    got = wire.call("ReceiveMessage", QueueUrl=url, AttributeNames=["All"], MessageAttributeNames=["All"])["Messages"][0]
    expect(got["Body"], body, "body")
    expect(got["MessageId"], sent["MessageId"], "id")
    expect(got["MessageAttributes"]["Foo"]["StringValue"], "Bar", "attribute")
    expect(got["Attributes"]["ApproximateReceiveCount"], "1", "receive count")
    wire.call("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=got["ReceiptHandle"], VisibilityTimeout=0)
    got = wire.call("ReceiveMessage", QueueUrl=url)["Messages"][0]
    wire.call("DeleteMessage", QueueUrl=url, ReceiptHandle=got["ReceiptHandle"])
    refused(wire, "ReceiptHandleIsInvalid", "DeleteMessage", QueueUrl=url, ReceiptHandle="garbage")

    entries = [{"Id": str(i), "MessageBody": f"m{i}"} for i in range(3)]
    expect(len(wire.call("SendMessageBatch", QueueUrl=url, Entries=entries)["Successful"]), 3, "sent")
    handles = [m["ReceiptHandle"] for m in wire.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)["Messages"]]
    entries = [{"Id": str(i), "ReceiptHandle": h, "VisibilityTimeout": 60} for i, h in enumerate(handles)]
    expect(len(wire.call("ChangeMessageVisibilityBatch", QueueUrl=url, Entries=entries)["Successful"]), 3, "changed")
    entries = [{"Id": str(i), "ReceiptHandle": h} for i, h in enumerate(handles + ["garbage"])]
    done = wire.call("DeleteMessageBatch", QueueUrl=url, Entries=entries)
    expect((len(done["Successful"]), done["Failed"][0]["Code"]), (3, "ReceiptHandleIsInvalid"), "deleted")
    expect(wire.call("ReceiveMessage", QueueUrl=url).get("Messages"), None, "nothing is left")
    wire.call("PurgeQueue", QueueUrl=url)


def dead_letters(wire, prefix):
    dead = wire.call("CreateQueue", QueueName=prefix + "dead")["QueueUrl"]
    policy = json.dumps({"deadLetterTargetArn": ARN + prefix + "dead", "maxReceiveCount": 1})
    source = wire.call("CreateQueue", QueueName=prefix + "source", Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "0"})["QueueUrl"]
    found = wire.call("ListDeadLetterSourceQueues", QueueUrl=dead)
    expect(found.get("queueUrls") or found.get("QueueUrls"), [source], "sources")
    for body in "abcde":
        wire.call("SendMessage", QueueUrl=source, MessageBody=body)
    for _ in range(2):
        wire.call("ReceiveMessage", QueueUrl=source, MaxNumberOfMessages=10)
    task = wire.call("StartMessageMoveTask", SourceArn=ARN + prefix + "dead", MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    wire.call("CancelMessageMoveTask", TaskHandle=task)
    expect(wire.call("ListMessageMoveTasks", SourceArn=ARN + prefix + "dead")["Results"][0]["Status"] in ("CANCELLING", "CANCELLED"), True, "cancelled")
    for url in (source, dead):
        wire.call("DeleteQueue", QueueUrl=url)


for wire, prefix in ((Boto(), "json-"), (Query("POST"), "post-"), (Query("GET"), "get-")):
    url = queues(wire, prefix)
    messages(wire, url)
    dead_letters(wire, prefix)
    wire.call("DeleteQueue", QueueUrl=url)
print("all well")

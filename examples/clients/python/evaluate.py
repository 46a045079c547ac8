"""Asks for an evaluation of a registered contract and waits for its report, with nothing of Truss but its topics and schemas.

    python evaluate.py --brokers 127.0.0.1:19092 --registry http://127.0.0.1:18081/apis/ccompat/v7 \
        --contract repair-pager --digest DIGEST --requester ci --request-id build-4711 --repeats 3

Prints the report as JSON. Exits 0 with a report, 4 where the request was refused, 6 where no answer came in time. The contract is registered before
(`truss contracts register`). The same requester and request id ask for the same evaluation, so sending it again is harmless.
What comes on eval.report is a copy for programs: `truss verify` checks every number of it against the ledger.
"""

import argparse
import hashlib
import io
import json
import struct
import sys
import time
import uuid

import fastavro
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient


class Wire:
    """The Confluent wire format: a zero byte, the schema's id as four bytes, the Avro value."""

    def __init__(self, registry: SchemaRegistryClient) -> None:
        self.registry = registry
        self.schemas = {}

    def encode(self, topic: str, name: str, value: dict) -> bytes:
        latest = self.registry.get_latest_version(f"{topic}-value")
        out = io.BytesIO()
        out.write(struct.pack(">bI", 0, latest.schema_id))
        schema = fastavro.parse_schema(json.loads(latest.schema.schema_str))
        fastavro.schemaless_writer(out, schema, (name, value))
        return out.getvalue()

    def decode(self, data: bytes) -> dict:
        magic, schema_id = struct.unpack(">bI", data[:5])
        if magic != 0:
            raise ValueError("not in the Confluent wire format")
        if schema_id not in self.schemas:
            text = self.registry.get_schema(schema_id).schema_str
            self.schemas[schema_id] = fastavro.parse_schema(json.loads(text))
        return fastavro.schemaless_reader(io.BytesIO(data[5:]), self.schemas[schema_id])


def evaluation_of(requester: str, request_id: str) -> str:
    """The id of the evaluation: docs/ledger-format.md."""
    return "ev_" + hashlib.sha256(f"truss.eval.v1\0{requester}\0{request_id}".encode()).hexdigest()[:32]


def ends_of(consumer: Consumer, topic: str) -> list:
    """Where each partition of a topic ends now: answers come after."""
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    return [
        TopicPartition(topic, partition, consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)[1])
        for partition in partitions
    ]


def produce(brokers: str, topic: str, key: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": brokers, "acks": "all", "enable.idempotence": True})
    failures = []
    headers = {
        "ce_specversion": "1.0",
        "ce_id": str(uuid.uuid4()),
        "ce_type": "truss.eval.requested.v1",
        "ce_source": "/clients/python",
        "content-type": "application/vnd.confluent.avro",
    }
    producer.produce(
        topic, key=key, value=value, headers=headers, on_delivery=lambda error, _: error and failures.append(error)
    )
    if producer.flush(30) > 0 or failures:
        raise SystemExit(f"the request was not taken: {failures or 'no answer from the brokers'}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--brokers", required=True)
    options.add_argument("--registry", required=True)
    options.add_argument("--prefix", default="", help="of the deployment's topics")
    options.add_argument("--contract", required=True, help="id of a registered contract")
    options.add_argument("--digest", required=True, help="of that contract: truss contracts list")
    options.add_argument("--requester", required=True)
    options.add_argument("--request-id", required=True)
    options.add_argument("--repeats", type=int)
    options.add_argument("--replicates", type=int)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--timeout", type=float, default=600, help="seconds to wait for the report")
    args = options.parse_args()

    wire = Wire(SchemaRegistryClient({"url": args.registry}))
    topic = {name: f"{args.prefix}eval.{name}" for name in ("requested", "report", "dead-letter")}
    key = f"{args.requester}/{args.request_id}"
    evaluation = evaluation_of(args.requester, args.request_id)
    consumer = Consumer({"bootstrap.servers": args.brokers, "group.id": f"python-{uuid.uuid4()}", "enable.auto.commit": False})
    # From the beginning of the reports, since a request that was made before may be answered already; refusals from now on.
    reports = [TopicPartition(topic["report"], one.partition, 0) for one in ends_of(consumer, topic["report"])]
    consumer.assign(reports + ends_of(consumer, topic["dead-letter"]))
    request = {
        "request_id": args.request_id,
        "requester": args.requester,
        "contract": ("truss.eval.RegisteredContract", {"id": args.contract, "digest": args.digest}),
        "repeats": args.repeats,
        "replicates": args.replicates,
        "seed": args.seed,
    }
    produce(args.brokers, topic["requested"], key, wire.encode(topic["requested"], "truss.eval.EvalRequested", request))

    deadline = time.monotonic() + args.timeout
    while time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is None or message.error() or message.value() is None:
            continue
        value = wire.decode(message.value())
        if message.topic() == topic["report"]:
            if value["eval_run_id"] == evaluation:
                json.dump(value, sys.stdout, indent=2, default=lambda raw: raw.hex())
                print()
                return 0
        elif message.key() == key.encode():
            print(f"refused: {value['code']}: {value['reason']}", file=sys.stderr)
            return 4
    print("no report came in time", file=sys.stderr)
    return 6


if __name__ == "__main__":
    sys.exit(main())

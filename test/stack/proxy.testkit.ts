import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Frames } from './frames.testkit.js';

const PRODUCE = 0;
const REQUEST_HEAD = 12;
const REPLY_HEAD = 8;

/** A TCP proxy on 127.0.0.1 that stands before one server and can fail as a network does. */
export interface Proxy {
  readonly port: number;
  /** Ends every connection, and each new one at once, until `restore`. */
  cut(): void;
  restore(): void;
  /** Nothing passes in either direction, and no connection ends, until `release`; then all that was held passes. */
  hold(): void;
  release(): void;
  /**
   * The next Produce request reaches the broker, its reply is dropped, and the connection ends: the client does not know that the
   * records were written. Only for connections without TLS. Resolves when it happened.
   */
  dropProduceReply(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a proxy for a port of 127.0.0.1. */
export async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let cut = false;
  let held = false;
  let dropped: (() => void) | undefined;

  const server = createServer((client) => {
    if (cut) {
      client.destroy();
      return;
    }
    const upstream = connect(target, '127.0.0.1');
    let lost: { readonly id: number; readonly happened: () => void } | undefined;
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.end();
        lost?.happened();
      });
      if (held) socket.pause();
    }
    const requests = new Frames(REQUEST_HEAD);
    const replies = new Frames(REPLY_HEAD);
    let speaksKafka: boolean | undefined;
    client.on('data', (chunk: Buffer) => {
      // A frame of the Kafka protocol begins with a size below 16 MiB; TLS, HTTP and Redis begin with another byte.
      speaksKafka ??= chunk[0] === 0;
      if (speaksKafka) {
        for (const { head } of requests.push(chunk)) {
          if (dropped === undefined || head.readUInt16BE(4) !== PRODUCE) continue;
          lost = { id: head.readInt32BE(8), happened: dropped };
          dropped = undefined;
        }
      }
      pass(chunk, client, upstream);
    });
    upstream.on('data', (chunk: Buffer) => {
      const frames = speaksKafka === true ? replies.push(chunk) : [];
      const frame = frames.find(({ head }) => head.readInt32BE(4) === lost?.id);
      if (frame === undefined) {
        pass(chunk, upstream, client);
        return;
      }
      client.end(chunk.subarray(0, Math.max(0, frame.end - REPLY_HEAD)));
      upstream.destroy();
    });
  });

  function pass(chunk: Buffer, from: Socket, to: Socket): void {
    if (to.write(chunk) || held) return;
    from.pause();
    to.once('drain', () => {
      if (!held) from.resume();
    });
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      cut = true;
      for (const socket of sockets) socket.destroy();
    },
    restore() {
      cut = false;
    },
    hold() {
      held = true;
      for (const socket of sockets) socket.pause();
    },
    release() {
      held = false;
      for (const socket of sockets) socket.resume();
    },
    dropProduceReply: () =>
      new Promise((resolve) => {
        dropped = resolve;
      }),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

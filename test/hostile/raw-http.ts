/** Sends raw bytes to a port, without an HTTP client. */
import { connect, type Socket } from 'node:net';

/** Status of the first response, if any, and the text that arrived before the connection closed or became idle. */
export interface RawAnswer {
  readonly status: number | undefined;
  readonly text: string;
}

/** @param quietMs idle time after which the connection is closed */
export async function speak(
  url: string,
  say: (socket: Socket) => void | Promise<void>,
  quietMs = 500,
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let text = '';
  const over = new Promise<void>((resolve) => {
    socket.setTimeout(quietMs, resolve);
    socket.once('close', resolve);
  });
  socket.setEncoding('utf8');
  socket.on('data', (chunk) => {
    if (text.length < 10_000) text += chunk;
  });
  // a closed connection is a valid result
  socket.on('error', () => undefined);
  await Promise.race([over, new Promise((resolve) => socket.once('connect', resolve))]);
  await say(socket);
  await over;
  socket.destroy();
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1];
  return { status: status === undefined ? undefined : Number(status), text };
}

/** Writes as fast as the server reads, until all data is written or the connection closes. */
export async function pour(socket: Socket, chunk: string, times: number): Promise<void> {
  for (let i = 0; i < times && socket.writable; i += 1) {
    if (socket.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      socket.once('drain', resolve);
      socket.once('close', resolve);
    });
  }
}

/** Speaks to a port without the manners of an HTTP client. */
import { connect, type Socket } from 'node:net';

/** What came back: the status of the first answer, if any, before the connection ended or went quiet. */
export interface RawAnswer {
  readonly status: number | undefined;
  readonly text: string;
}

/** @param quietMs the connection is given up when nothing has come for this long */
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
  // being cut off is an answer like others
  socket.on('error', () => undefined);
  await Promise.race([over, new Promise((resolve) => socket.once('connect', resolve))]);
  await say(socket);
  await over;
  socket.destroy();
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1];
  return { status: status === undefined ? undefined : Number(status), text };
}

/** Writes as fast as the other side takes it, until it is done or cut off. */
export async function pour(socket: Socket, chunk: string, times: number): Promise<void> {
  for (let i = 0; i < times && socket.writable; i += 1) {
    if (socket.write(chunk)) continue;
    await new Promise<void>((resolve) => {
      socket.once('drain', resolve);
      socket.once('close', resolve);
    });
  }
}

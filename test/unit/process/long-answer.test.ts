/** Tests of long responses over HTTP, which are compressed on request and rendered once for all clients. */
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { send, takesGzip } from '../../../src/process/long-answer.ts';
import type { Rendered } from '../../../src/process/rendered-answer.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serving(rendered: Rendered) {
  const outcomes: unknown[] = [];
  server = createServer((asked, response) => {
    send(asked, response, { ...rendered, type: 'text/plain' }).then(
      () => outcomes.push('sent'),
      (error) => outcomes.push(error),
    );
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const ask = (encoding: string | undefined, method = 'GET') =>
    new Promise<{ headers: IncomingMessage['headers']; body: Buffer }>((resolve, reject) => {
      const headers = encoding === undefined ? {} : { 'accept-encoding': encoding };
      request({ port, host: '127.0.0.1', method, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk) => chunks.push(chunk));
        answer.on('end', () => resolve({ headers: answer.headers, body: Buffer.concat(chunks) }));
      })
        .on('error', reject)
        .end();
    });
  return { ask, port, outcomes };
}

const TEXT = 'karpenter_pods_state{phase="Running"} 1\n'.repeat(50_000);
const PACKED = gzipSync(TEXT);

const plain = (...texts: readonly string[]): Rendered => {
  const pieces = texts.map((text) => Buffer.from(text));
  return { pieces, isGzip: false, length: pieces.reduce((sum, piece) => sum + piece.length, 0) };
};
const packed: Rendered = {
  pieces: [PACKED.subarray(0, 1_000), PACKED.subarray(1_000)],
  isGzip: true,
  length: TEXT.length,
};
/** Rendered forms of a short text and of a long text. */
const FORMS = [plain(TEXT.slice(0, 1_000), TEXT.slice(1_000)), packed];

describe('a long response', () => {
  it.each(
    FORMS,
  )('is compressed for clients that accept gzip, such as Prometheus (already compressed: $isGzip)', async (form) => {
    const { ask } = await serving(form);
    const { headers, body } = await ask('gzip');
    expect(headers['content-encoding']).toBe('gzip');
    expect(headers.vary).toBe('accept-encoding');
    expect(headers['content-length']).toBe(String(body.length));
    expect(body.length).toBeLessThan(TEXT.length / 20);
    expect(gunzipSync(body).toString()).toBe(TEXT);
  });

  it.each(
    FORMS,
  )('is plain text for other clients, and has no body for HEAD (already compressed: $isGzip)', async (form) => {
    const { ask } = await serving(form);
    for (const encoding of [undefined, 'identity', 'br, gzip;q=0']) {
      const { headers, body } = await ask(encoding);
      expect(headers['content-encoding']).toBeUndefined();
      expect(headers['content-length']).toBe(String(TEXT.length));
      expect(body.toString()).toBe(TEXT);
    }
    const { headers, body } = await ask(undefined, 'HEAD');
    expect({ length: headers['content-length'], body: body.length }).toEqual({ length: String(TEXT.length), body: 0 });
  });

  it('is not compressed if it fits into a packet', async () => {
    const { ask } = await serving(plain('up 1\n'));
    expect((await ask('gzip')).headers['content-encoding']).toBeUndefined();
  });

  it('settles if the client disconnects during the transfer', async () => {
    const { port, outcomes } = await serving(plain(...Array.from({ length: 100 }, () => TEXT)));
    const asked = request({ port, host: '127.0.0.1' }, (answer) => answer.once('data', () => asked.destroy()));
    asked.on('error', () => undefined).end();
    while (outcomes.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(outcomes).toEqual(['sent']);
  });
});

describe('takesGzip', () => {
  it.each([
    ['gzip', true],
    ['gzip, deflate', true],
    ['deflate, GZIP;q=0.5', true],
    ['*', true],
    ['x-gzip', true],
    ['gzip;q=0, *', false],
    ['gzip; q=0.000', false],
    ['identity', false],
    ['', false],
    [undefined, false],
  ])('returns, for %p, %p', (header, has) => {
    expect(takesGzip(header)).toBe(has);
  });
});

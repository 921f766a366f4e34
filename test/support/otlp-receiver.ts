/** A trace collector that receives OTLP over HTTP in protobuf, and stores the spans. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root span of a trace. */
  readonly parentId: string;
  readonly name: string;
  readonly isRequest: boolean;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Undefined unless the status is an error. */
  readonly failure: string | undefined;
  /** Attributes of the service. */
  readonly resource: Readonly<Record<string, string | number | boolean>>;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Path and headers of each request. */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** Response to further requests: a status, or no response. */
  answer: number | 'nothing';
  close(): Promise<void>;
}

export async function otlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(async (request, response) => {
    requests.push({ path: request.url ?? '', headers: request.headers });
    const body = await bodyOf(request);
    if (receiver.answer === 'nothing') return;
    if (receiver.answer === 200) spans.push(...spansOf(body));
    response.writeHead(receiver.answer).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    answer: 200,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const body = Buffer.concat(await request.toArray());
  return request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
}

type Wire = readonly (readonly [field: number, value: Buffer | bigint])[];

/** Returns the fields of a protobuf message. */
function wire(message: Buffer): Wire {
  const fields: [number, Buffer | bigint][] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Buffer => {
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const type = tag & 7;
    const lengths: Readonly<Record<number, number>> = { 1: 8, 5: 4 };
    fields.push([tag >> 3, type === 0 ? varint() : bytes(lengths[type] ?? Number(varint()))]);
  }
  return fields;
}

const all = (fields: Wire, field: number): readonly Buffer[] =>
  fields.flatMap(([number, value]) => (number === field && Buffer.isBuffer(value) ? [value] : []));
const one = (fields: Wire, field: number): Buffer => all(fields, field)[0] ?? Buffer.alloc(0);
const number = (fields: Wire, field: number): number =>
  Number(fields.find(([candidate, value]) => candidate === field && typeof value === 'bigint')?.[1] ?? 0);

function attributesOf(fields: Wire, field: number): ReceivedSpan['attributes'] {
  const entries = all(fields, field).map((entry) => {
    const pair = wire(entry);
    const [[type, value] = [0, 0n]] = wire(one(pair, 2));
    const key = one(pair, 1).toString();
    if (type === 2) return [key, value === 1n];
    if (type === 3) return [key, Number(value)];
    if (type === 4) return [key, (value as Buffer).readDoubleLE()];
    return [key, String(value)];
  });
  return Object.fromEntries(entries) as ReceivedSpan['attributes'];
}

function spansOf(request: Buffer): readonly ReceivedSpan[] {
  return all(wire(request), 1).flatMap((resourceSpans) => {
    const group = wire(resourceSpans);
    const resource = attributesOf(wire(one(group, 1)), 1);
    return all(group, 2).flatMap((scopeSpans) => all(wire(scopeSpans), 2).map((span) => spanOf(wire(span), resource)));
  });
}

function spanOf(span: Wire, resource: ReceivedSpan['attributes']): ReceivedSpan {
  const status = wire(one(span, 15));
  const ms = (field: number): number => Number(one(span, field).readBigUInt64LE()) / 1e6;
  return {
    traceId: one(span, 1).toString('hex'),
    spanId: one(span, 2).toString('hex'),
    parentId: one(span, 4).toString('hex'),
    name: one(span, 5).toString(),
    isRequest: number(span, 6) === 3,
    startMs: ms(7),
    endMs: ms(8),
    attributes: attributesOf(span, 9),
    failure: number(status, 3) === 2 ? one(status, 2).toString() : undefined,
    resource,
  };
}

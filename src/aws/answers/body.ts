/** Response bodies: limits their size and checks their format. */
import { type Call, UnusableAnswer } from './unusable.ts';

/** Several times the size of the largest page of any call. */
const MAX_BODY_BYTES = 32 * 2 ** 20;

const XML_SERVICES: ReadonlySet<string> = new Set(['EC2', 'IAM', 'STS']);

/**
 * Matches an XML list that contains something other than items. The SDK would parse it as an empty list. Lists of EC2
 * have names such as `imagesSet`.
 */
const NO_LIST = /<(\w+Set|securityGroupInfo|launchTemplates|Roles|InstanceProfiles)>\s*(?=\S)(?!<item|<member|<\/)/;
/** Matches a flag that is neither true nor false. The SDK would parse it as false. */
const NO_FLAG = /<(bareMetal|interruptible|encryptionInTransitSupported|isTruncated|IsTruncated)>(?!true<|false<)/;

type Stream = AsyncIterable<Uint8Array> & { destroy?(): void };

const isStream = (body: unknown): body is Stream =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body && !(body instanceof Uint8Array);

/**
 * @throws UnusableAnswer if the body is too long
 * @throws Error if the connection fails
 */
export async function wholeBody(call: Call, body: unknown, most = MAX_BODY_BYTES): Promise<unknown> {
  if (!isStream(body)) return body;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > most) {
      body.destroy?.();
      throw new UnusableAnswer(call, `it is longer than ${most} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** @throws UnusableAnswer if the SDK would parse the body as an empty response */
export function checkForm(call: Call, body: unknown): void {
  if (!(body instanceof Uint8Array)) return;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  const problem = XML_SERVICES.has(call.service) ? xmlProblem(text, call) : jsonProblem(text);
  if (problem !== undefined) throw new UnusableAnswer(call, problem);
}

function xmlProblem(text: string, { operation }: Call): string | undefined {
  const root = `<${operation}Response`;
  // only an XML declaration may precede the root element
  if (!text.slice(0, 500 + root.length).includes(root)) return `it is not a ${operation}Response`;
  const noList = NO_LIST.exec(text)?.[1];
  if (noList !== undefined) return `${noList} is not a list`;
  const noFlag = NO_FLAG.exec(text)?.[1];
  return noFlag === undefined ? undefined : `${noFlag} is not true or false`;
}

const jsonProblem = (text: string): string | undefined =>
  text.trimStart().startsWith('{') ? undefined : 'it is not a JSON object';

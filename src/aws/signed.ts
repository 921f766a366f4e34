/**
 * Requests to AWS services that are used too rarely for an SDK client: plain HTTPS with the signer and the credentials
 * of an SDK client.
 */
import type { EKSClient } from '@aws-sdk/client-eks';
import { defined, tryRun } from '#lib';
import { wholeBody } from './answers/body.ts';

const TIMEOUT_MS = 10_000;
const MAX_TEXT = 300;

interface SignedRequest {
  /** Name in the endpoint and in the scope of signatures: `arc-zonal-shift`, `events`. */
  readonly service: string;
  readonly region: string;
  /** Body of a POST request. Without a body, this request is a GET. */
  readonly body?: string;
  /** URL-encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the endpoint of a service from the environment or by region, like SDK clients. */
function endpoint({ service, region }: SignedRequest, env: Environment): URL {
  const own = `AWS_ENDPOINT_URL_${service.toUpperCase().replaceAll('-', '_')}`;
  const configured = env[own] || env.AWS_ENDPOINT_URL;
  if (configured) return new URL(configured);
  return new URL(`https://${service}.${region}.${region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'}`);
}

/** Returns the text of the response. @throws Error with the error code of the service, if there is one */
export async function signedRequest(
  { config }: EKSClient,
  request: SignedRequest,
  env: Environment = process.env,
): Promise<string> {
  const { service, region, body, path, headers: own = {} } = request;
  const { protocol, hostname, port, host } = endpoint(request, env);
  const method = body === undefined ? 'GET' : 'POST';
  const signer = await config.signer({
    name: 'sigv4',
    signingName: service,
    signingRegion: region,
    properties: {},
  });
  const { headers } = await signer.sign(
    {
      method,
      protocol,
      hostname,
      ...(port === '' ? {} : { port: Number(port) }),
      path,
      query: {},
      headers: { ...own, host },
      ...defined({ body }),
    },
    { signingService: service, signingRegion: region },
  );
  const { host: _, ...sent } = headers;
  const response = await fetch(`${protocol}//${host}${path}`, {
    method,
    headers: sent,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...defined({ body }),
  });
  const text = String(await wholeBody({ service, operation: method }, response.body));
  if (response.ok) return text;
  const error = new Error(`${service} returned HTTP status ${response.status}: ${errorMessage(text)}`);
  throw Object.assign(error, { Code: errorCode(response, text) });
}

/** Returns the message of an error in JSON or XML, or else the beginning of the text. */
function errorMessage(text: string): string {
  const json = /"[Mm]essage"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const xml = /<Message>([^<]*)<\/Message>/.exec(text)?.[1]?.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
  return (tryRun(() => json && String(JSON.parse(json))) ?? xml ?? text.trim()).slice(0, MAX_TEXT);
}

/**
 * Returns `AccessDeniedException` for `com.amazonaws.events#AccessDeniedException:…`, or an empty string if there is no
 * code.
 */
function errorCode(response: Response, text: string): string {
  const named = response.headers.get('x-amzn-errortype') ?? /"__type"\s*:\s*"([^"]*)"/.exec(text)?.[1] ?? '';
  return named.split(':')[0]?.split('#').at(-1) ?? '';
}

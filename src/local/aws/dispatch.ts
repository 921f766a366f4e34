/** From an HTTP request to the service that it is signed for, through rate limits and faults, and back. */
import { throttled } from './faults.ts';
import { EC2_RATE_LIMITS, type RateLimiter, rateLimiter } from './rate-limits.ts';
import { GLOBAL_SERVICES } from './services/services.ts';
import type { Account } from './state/account.ts';
import { AwsError } from './wire/error.ts';
import {
  actionOf,
  decode,
  encode,
  encodeError,
  type HttpAnswer,
  type HttpRequest,
  type Service,
} from './wire/service.ts';
import type { OperationShape } from './wire/shape.ts';

export type Dispatch = (request: HttpRequest, signal: AbortSignal) => Promise<HttpAnswer>;

interface Scope {
  readonly service: string;
  readonly region: string;
}

export function dispatcher(account: Account, services: ReadonlyMap<string, Service>): Dispatch {
  /** Errors before a service is known travel as EC2 writes them. */
  const fallback = services.get('ec2') as Service;
  const { rateLimits = false } = account.options;
  const admits =
    rateLimits === false ? () => true : rateLimiter(account.clock, rateLimits === true ? EC2_RATE_LIMITS : rateLimits);

  return async (request, signal) => {
    const requestId = account.random.uuid();
    const scope = scopeOf(request);
    const service = scope && services.get(scope.service);
    if (!scope || !service) return encodeError(fallback, unknownService(scope), requestId);
    if (!GLOBAL_SERVICES.has(service.name) && scope.region !== account.region) {
      return encodeError(service, wrongRegion(service, scope.region, account.region), requestId);
    }
    return call(account, service, request, { requestId, signal, admits });
  };
}

interface Passage {
  readonly requestId: string;
  readonly signal: AbortSignal;
  readonly admits: RateLimiter;
}

const RESET: HttpAnswer = { status: 0, headers: {}, body: '', reset: true };

async function call(
  account: Account,
  service: Service,
  request: HttpRequest,
  { requestId, signal, admits }: Passage,
): Promise<HttpAnswer> {
  let failed: (code: string) => void = (code) =>
    account.calls.record(service.name, actionOf(service, request) || request.path, {}, account.clock.now())(code);
  try {
    const { shape, input } = await decode(service, request);
    failed = account.calls.record(service.name, shape.name, input, account.clock.now());
    if (service.name === 'ec2' && !admits(shape.name, input)) throw throttled(service.name);
    const { delayMs, error, broken } = account.faults.onCall(service.name, shape.name);
    if (delayMs > 0) await account.clock.sleep(delayMs, signal);
    if (error) throw error;
    if (broken !== undefined) failed(broken);
    if (broken === 'unheard') return RESET;
    if (broken === 'empty') return encode(service, shape, nothingListed(shape), requestId);
    const answer = encode(
      service,
      shape,
      await service.handlers[shape.name]?.(input, { requestId, signal }),
      requestId,
    );
    if (broken === 'unanswered') return RESET;
    return broken === 'cut' ? { ...answer, body: answer.body.slice(0, answer.body.length / 2) } : answer;
  } catch (error) {
    const known = error instanceof AwsError ? error : new AwsError('InternalError', internal(error), 500);
    failed(known.code);
    return encodeError(service, known, requestId);
  }
}

const nothingListed = ({ output }: OperationShape): Record<string, unknown> =>
  output.kind === 'structure'
    ? Object.fromEntries(output.members.filter(({ shape }) => shape.kind === 'list').map(({ name }) => [name, []]))
    : {};

const internal = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** Service and region stand in the credential scope; the one call that is never signed is told by its action. */
function scopeOf({ headers, body }: HttpRequest): Scope | undefined {
  const { authorization } = headers;
  const match = /Credential=[^/=]+\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request/.exec(String(authorization ?? ''));
  if (match?.[1] && match[2]) return { region: match[1], service: match[2] };
  return body.includes('Action=AssumeRoleWithWebIdentity') ? { region: '', service: 'sts' } : undefined;
}

const unknownService = (scope: Scope | undefined): AwsError =>
  scope
    ? new AwsError('UnknownService', `The local AWS has no service "${scope.service}"`, 404)
    : new AwsError('MissingAuthenticationToken', 'Request is missing Authentication Token', 403);

const wrongRegion = ({ name }: Service, given: string, region: string): AwsError =>
  new AwsError(
    name === 'ec2' ? 'AuthFailure' : 'InvalidSignatureException',
    `Credential should be scoped to a valid region: this server is ${region}, the request is signed for ${given}.`,
    name === 'ec2' ? 401 : 403,
  );

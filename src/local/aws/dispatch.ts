/** Routes HTTP requests to the service in their signature. */
import { asAwsError, type Carry } from './carry.ts';
import { GLOBAL_SERVICES } from './services/services.ts';
import type { Account } from './state/account.ts';
import { AwsError } from './wire/error.ts';
import {
  type AwsCall,
  type AwsService,
  actionOf,
  type Decoded,
  decodeInput,
  encodeError,
  encodeOutput,
  type HttpAnswer,
  type HttpRequest,
} from './wire/service.ts';

export type Dispatch = (request: HttpRequest, signal: AbortSignal) => Promise<HttpAnswer>;

interface Scope {
  readonly service: string;
  readonly region: string;
}

export function dispatcher(account: Account, services: ReadonlyMap<string, AwsService>, carry: Carry): Dispatch {
  /** Service whose format is used for errors of requests without a known service. */
  const fallback = services.get('ec2') as AwsService;

  return async (request, signal) => {
    const requestId = account.random.uuid();
    const scope = scopeOf(request);
    const service = scope && services.get(scope.service);
    if (!scope || !service) return encodeError(fallback, unknownService(scope), requestId);
    if (!GLOBAL_SERVICES.has(service.name) && scope.region !== account.region) {
      return encodeError(service, wrongRegion(service, scope.region, account.region), requestId);
    }
    return exchange(service, await understood(account, service, request), carry, { requestId, signal });
  };
}

/** Decodes a request. Requests that cannot be decoded are recorded as calls too. */
async function understood(account: Account, service: AwsService, request: HttpRequest): Promise<Decoded | AwsError> {
  try {
    return await decodeInput(service, request);
  } catch (error) {
    const known = asAwsError(error);
    account.calls.record(service.name, actionOf(service, request) || request.path, {}, account.clock.now())(known.code);
    return known;
  }
}

const RESET: HttpAnswer = { status: 0, headers: {}, body: '', reset: true };

async function exchange(
  service: AwsService,
  request: Decoded | AwsError,
  carry: Carry,
  call: AwsCall,
): Promise<HttpAnswer> {
  const { requestId } = call;
  if (request instanceof AwsError) return encodeError(service, request, requestId);
  try {
    const { output, broken } = await carry(service, request.shape.name, request.input, call);
    if (broken === 'unheard' || broken === 'unanswered') return RESET;
    const answer = encodeOutput(service, request.shape, output, requestId);
    return broken === 'cut' ? { ...answer, body: answer.body.slice(0, answer.body.length / 2) } : answer;
  } catch (error) {
    return encodeError(service, asAwsError(error), requestId);
  }
}

/**
 * Returns the service and region of the credential scope. Only AssumeRoleWithWebIdentity is unsigned and is recognized
 * by its action.
 */
function scopeOf({ headers, body }: HttpRequest): Scope | undefined {
  const { authorization } = headers;
  const match = /Credential=[^/=]+\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request/.exec(String(authorization ?? ''));
  if (match?.[1] && match[2]) return { region: match[1], service: match[2] };
  return body.includes('Action=AssumeRoleWithWebIdentity') ? { region: '', service: 'sts' } : undefined;
}

const unknownService = (scope: Scope | undefined): AwsError =>
  scope
    ? new AwsError('UnknownService', `The local AWS does not support the service "${scope.service}"`, 404)
    : new AwsError('MissingAuthenticationToken', 'Request is missing Authentication Token', 403);

const wrongRegion = ({ name }: AwsService, given: string, region: string): AwsError =>
  new AwsError(
    name === 'ec2' ? 'AuthFailure' : 'InvalidSignatureException',
    `Credential should be scoped to a valid region: this server is ${region}, the request is signed for ${given}.`,
    name === 'ec2' ? 401 : 403,
  );

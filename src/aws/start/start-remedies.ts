/** Remedies for the first failures that users see: credentials, permissions, region, cluster name, network. */
import { StartError } from '#process/life';
import { codeOf, isDenied, isExpired, mayPass } from '../errors.ts';

interface StartFacts {
  readonly region: string;
  readonly clusterName: string;
}

const ROLE =
  'annotate the service account with eks.amazonaws.com/role-arn (IRSA), or create a Pod Identity association for it';
/** Environment variables and tokens of either kind are injected when a pod is created. */
const RESTART = 'then restart the pods with kubectl rollout restart';

export const REGION_REMEDY =
  'set AWS_REGION in controller.env of the chart, or allow the pods to reach the instance metadata service (hop limit 2)';

const NO_CREDENTIALS = new Set(['CredentialsProviderError', 'TokenProviderError', 'ProviderError']);
/** Codes for credentials that are invalid in the partition or the account. */
const INVALID_CREDENTIALS = new Set([
  'AuthFailure',
  'InvalidClientTokenId',
  'InvalidIdentityToken',
  'SignatureDoesNotMatch',
  'UnrecognizedClientException',
]);
const NO_CLUSTER = new Set(['ResourceNotFoundException', 'NotFoundException']);

/** Returns the remedy for a call that failed during the start. */
export function startRemedy(error: unknown, { region, clusterName }: StartFacts): string {
  const { service, operation } = callOf(error);
  const code = codeOf(error);
  if (isAssumeRole(error)) return `allow the service account in the trust policy of the role; ${RESTART}`;
  if (isExpired(error)) return `renew the credentials: ${ROLE} instead of credentials that expire; ${RESTART}`;
  if (INVALID_CREDENTIALS.has(code))
    return `correct the credentials, or AWS_REGION if region ${region} is in another partition: ${ROLE}; ${RESTART}`;
  if (hasName(error, NO_CREDENTIALS)) return `${ROLE}; ${RESTART}`;
  if (isDenied(error)) {
    const instead = service === 'EKS' ? ', or set CLUSTER_ENDPOINT (settings.clusterEndpoint)' : '';
    return `allow ${service.toLowerCase()}:${operation} in the policies of the operator's role${instead}`;
  }
  if (service === 'EKS' && NO_CLUSTER.has(code))
    return `set CLUSTER_NAME (settings.clusterName) to a cluster in region ${region}, which has no cluster "${clusterName}", or correct AWS_REGION`;
  if (mayPass(error))
    return `allow the pods to reach ${service || 'AWS'} in region ${region}: check AWS_REGION, AWS_ENDPOINT_URL, DNS, routes, security groups, VPC endpoints and proxies`;
  return 'correct the cause in the error; the container restarts automatically';
}

/** Returns a handler that throws the failure of a step of the start, with its remedy. */
export const failedStart =
  (step: string, facts: StartFacts) =>
  (cause: unknown): never => {
    if (cause instanceof StartError) throw cause;
    throw new StartError(step, { cause, remedy: startRemedy(cause, facts) });
  };

/** Returns the call that failed, from the error or the first of its causes with a call. */
function callOf(error: unknown): { readonly service: string; readonly operation: string } {
  for (const at of chainOf(error))
    if ('$service' in at && '$operation' in at)
      return { service: String(at.$service), operation: String(at.$operation) };
  return { service: '', operation: '' };
}

function* chainOf(error: unknown): Generator<Error> {
  for (let at = error; at instanceof Error; at = at.cause) yield at;
}

const hasName = (error: unknown, names: ReadonlySet<string>): boolean =>
  [...chainOf(error)].some(({ name }) => names.has(name));

/**
 * Returns true if STS refuses the web identity token of IRSA. The failed call is then the call that waited for
 * credentials.
 */
const isAssumeRole = (error: unknown): boolean =>
  isDenied(error) && [...chainOf(error)].some(({ message }) => message.includes('sts:AssumeRole'));

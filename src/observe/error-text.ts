/** How failures look in the log: one text with its causes, and the codes that AWS puts on its failures. */
import { defined } from '../lib/defined.ts';
import type { LogFields } from './logger.ts';

/** The error's message followed by those of its causes, or of the errors it gathers, that it does not repeat. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : JSON.stringify(error);
  const own = error.message === '' ? error.name : error.message;
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [own, ...error.errors.map(errorText).filter((text) => !own.includes(text))].join('; ');
  }
  if (error.cause === undefined) return own;
  const cause = errorText(error.cause);
  return own.includes(cause) ? own : `${own}, ${cause}`;
}

/** The shape of an AWS SDK service exception, as far as the log shows it. */
interface AwsFailure extends Error {
  readonly $metadata: { readonly httpStatusCode?: number; readonly requestId?: string };
  readonly $service?: string;
  readonly $operation?: string;
  readonly Code?: string;
}

const isAwsFailure = (error: Error): error is AwsFailure => '$metadata' in error && error.$metadata !== null;

/** Fields `aws-…` of the first AWS failure among an error and its causes; empty when there is none. */
export function awsFields(error: unknown): LogFields {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (!isAwsFailure(at)) continue;
    const { $metadata: metadata } = at;
    return defined({
      'aws-error-code': at.Code ?? at.name,
      'aws-operation-name': at.$operation,
      'aws-request-id': metadata.requestId,
      'aws-service-name': at.$service,
      'aws-status-code': metadata.httpStatusCode,
    });
  }
  return {};
}

/** Field `kube-request` with the request to the API server that an error, or one of its causes, is about. */
export function requestField(error: unknown): LogFields {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('request' in at && typeof at.request === 'string') return { 'kube-request': at.request };
    const [first] = at instanceof AggregateError ? at.errors : [];
    if (first !== undefined) return requestField(first);
  }
  return {};
}

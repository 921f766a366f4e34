/** Text of failures in the log: one text with all causes, and the codes of AWS failures. */
import { defined } from '#lib';
import type { LogFields } from './logger.ts';

/**
 * Returns the error's message, followed by the messages of its causes or of the errors in an AggregateError. Skips messages that
 * are already part of the text.
 */
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

/** Fields of an AWS SDK service exception that the log shows. */
interface AwsFailure extends Error {
  readonly $metadata: { readonly httpStatusCode?: number; readonly requestId?: string };
  readonly $service?: string;
  readonly $operation?: string;
  readonly Code?: string;
}

const isAwsFailure = (error: Error): error is AwsFailure => '$metadata' in error && error.$metadata !== null;

/** Returns the `aws-…` fields of the first AWS failure among an error and its causes, or no fields without an AWS failure. */
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

/** Returns the field `kube-request` with the API server request of an error or of one of its causes. */
export function requestField(error: unknown): LogFields {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('request' in at && typeof at.request === 'string') return { 'kube-request': at.request };
    const [first] = at instanceof AggregateError ? at.errors : [];
    if (first !== undefined) return requestField(first);
  }
  return {};
}

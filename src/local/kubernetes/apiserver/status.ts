/** Errors of the API as `Status` objects. */
import { show } from '#api/schema';
import type { Json } from './json.ts';

export { invalid as invalidValue, notSupported, requiredValue, tooLong, tooMany } from '#api/schema';

/** One cause in a Status's details; `field` is a path such as `spec.replicas`. */
export interface StatusCause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** Object or resource that an error concerns. */
export interface Subject {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** Error of a rejected request. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** Token with which the list may continue, but inconsistently. */
  continueToken?: string;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.name = 'StatusError';
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  toJSON(): Json {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: 'Failure',
      message: this.message,
      ...(this.reason !== '' && { reason: this.reason }),
      ...(this.details && { details: this.details }),
      code: this.code,
    };
  }
}

export const isStatus = (error: unknown, reason: string): boolean =>
  error instanceof StatusError && error.reason === reason;

/** Returns the name with its group: `nodepools.karpenter.sh`, or `pods` in the core group. */
const qualifiedName = ({ group, plural }: Subject): string => (group === '' ? plural : `${plural}.${group}`);
const qualifiedKind = ({ group, kind }: Subject): string => (group === '' ? kind : `${kind}.${group}`);
const about = (subject: Subject, name: string): StatusDetails => ({
  name,
  ...(subject.group !== '' && { group: subject.group }),
  kind: subject.plural,
});

export const notFound = (subject: Subject, name: string): StatusError =>
  new StatusError(404, 'NotFound', `${qualifiedName(subject)} "${name}" not found`, about(subject, name));

export const alreadyExists = (subject: Subject, name: string): StatusError =>
  new StatusError(409, 'AlreadyExists', `${qualifiedName(subject)} "${name}" already exists`, about(subject, name));

export const conflict = (subject: Subject, name: string, why: string): StatusError =>
  new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualifiedName(subject)} "${name}": ${why}`,
    about(subject, name),
  );

export const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

export const badRequest = (message: string): StatusError => new StatusError(400, 'BadRequest', message);

export const forbidden = (subject: Subject, name: string, why: string, causes?: readonly StatusCause[]): StatusError =>
  new StatusError(403, 'Forbidden', `${qualifiedName(subject)} "${name}" is forbidden: ${why}`, {
    ...about(subject, name),
    ...(causes && { causes }),
  });

export const methodNotAllowed = (): StatusError =>
  new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

export const unknownPath = (): StatusError =>
  new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});

export const expiredError = (message: string): StatusError => new StatusError(410, 'Expired', message);

/** @param retryAfterSeconds 0 leaves the delay to the client */
export const tooManyRequests = (
  message: string,
  causes: readonly StatusCause[] = [],
  retryAfterSeconds = 0,
): StatusError =>
  new StatusError(429, 'TooManyRequests', message, {
    ...(causes.length > 0 && { causes }),
    ...(retryAfterSeconds > 0 && { retryAfterSeconds }),
  });

/** Returns a 422 error with a message that lists the causes as a real server does. */
export function invalid(subject: Subject, name: string, causes: readonly StatusCause[]): StatusError {
  const lines = causes.map((cause) => (cause.field ? `${cause.field}: ${cause.message}` : cause.message));
  const listed = lines.length === 1 ? lines[0] : `[${[...new Set(lines)].join(', ')}]`;
  return new StatusError(422, 'Invalid', `${qualifiedKind(subject)} "${name}" is invalid: ${listed}`, {
    ...(name !== '' && { name }),
    ...(subject.group !== '' && { group: subject.group }),
    kind: subject.kind,
    causes,
  });
}

export const duplicate = (field: string, value: unknown): StatusCause => ({
  field,
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${show(value)}`,
});
export const fieldForbidden = (field: string, detail: string): StatusCause => ({
  field,
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${detail}`,
});

/** Returns the Status of a delete that removed the object immediately, or with a code the Status of a create. */
export const success = (details?: StatusDetails, code?: number): Json => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  ...(details && { details }),
  ...(code !== undefined && { code }),
});

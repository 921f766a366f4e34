/** An error that is returned to the client with its AWS error code. Other errors become InternalError. */
export class AwsError extends Error {
  readonly code: string;
  readonly status: number;
  /** Further members of this error in the service's model. */
  readonly details: Readonly<Record<string, string>>;

  constructor(code: string, message: string, status = 400, details: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'AwsError';
    this.code = code;
    this.status = status;
    this.details = details;
  }
}

/** EC2's three errors for an invalid parameter. */
export const missingParameter = (name: string): AwsError =>
  new AwsError('MissingParameter', `The request must contain the parameter ${name}`);

export const invalidValue = (name: string, value: unknown, expected?: string): AwsError =>
  new AwsError(
    'InvalidParameterValue',
    `Value (${String(value)}) for parameter ${name} is invalid.${expected ? ` ${expected}` : ''}`,
  );

export const invalidCombination = (message: string): AwsError => new AwsError('InvalidParameterCombination', message);

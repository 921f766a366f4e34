/** A failure that goes to the client under its AWS error code. Anything else that is thrown becomes InternalError. */
export class AwsError extends Error {
  readonly code: string;
  readonly status: number;
  /** Further members of the error, where the service's model has some. */
  readonly details: Readonly<Record<string, string>>;

  constructor(code: string, message: string, status = 400, details: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'AwsError';
    this.code = code;
    this.status = status;
    this.details = details;
  }
}

/** The three shapes in which EC2 complains about a parameter. */
export const missingParameter = (name: string): AwsError =>
  new AwsError('MissingParameter', `The request must contain the parameter ${name}`);

export const invalidValue = (name: string, value: unknown, expected?: string): AwsError =>
  new AwsError(
    'InvalidParameterValue',
    `Value (${String(value)}) for parameter ${name} is invalid.${expected ? ` ${expected}` : ''}`,
  );

export const invalidCombination = (message: string): AwsError => new AwsError('InvalidParameterCombination', message);

/** Failure of a step of the start. */

interface Remedied {
  readonly cause: unknown;
  readonly remedy: string;
}

/**
 * Thrown if a step fails. The message names the step and is also the message of the log line. The cause and the remedy are
 * fields of the log line.
 */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly remedy: string;

  constructor(step: string, { cause, remedy }: Remedied) {
    super(step, { cause });
    this.remedy = remedy;
  }
}

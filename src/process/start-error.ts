/** Failure of a step of the start. */

interface Remedied {
  readonly cause: unknown;
  readonly remedy: string;
}

/** The message names the step, as the message of the log line does; the cause and the remedy are fields of the line. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly remedy: string;

  constructor(step: string, { cause, remedy }: Remedied) {
    super(step, { cause });
    this.remedy = remedy;
  }
}

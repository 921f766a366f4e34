/**
 * Thrown if a file or text of the user is invalid. The message names the file, the position in the file, the field and the
 * remedy.
 */
export class InputError extends Error {
  override readonly name = 'InputError';

  /** @param where file and position, for example `week.jsonl, line 12` */
  constructor(where: string, what: string, options?: ErrorOptions) {
    super(`${where}: ${what}`, options);
  }
}

/** A file or text of the user that cannot be used. The message names the file, the place in it, the field and the remedy. */
export class InputError extends Error {
  override readonly name = 'InputError';

  /** @param where `week.jsonl, line 12` */
  constructor(where: string, what: string, options?: ErrorOptions) {
    super(`${where}: ${what}`, options);
  }
}

/** Input that cannot be used: the message names the file, the document, the field and what would do. */
export class InputError extends Error {
  constructor(where: string, what: string, options?: ErrorOptions) {
    super(`${where}: ${what}`, options);
    this.name = 'InputError';
  }
}

/** The message of anything that was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

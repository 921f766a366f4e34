/** Input that cannot be used: the message names the file, the document, the field and what would do. */
export class InputError extends Error {
  constructor(where: string, what: string, options?: ErrorOptions) {
    super(`${where}: ${what}`, options);
    this.name = 'InputError';
  }
}

export { messageOf } from '../../lib/error-message.ts';

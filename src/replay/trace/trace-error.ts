/** What is wrong with one field of a line. Who knows the line makes a {@link InputError} of it. */
export class FieldFault extends Error {
  constructor(field: string, what: string) {
    super(field === '' ? what : `${field} ${what}`);
    this.name = 'FieldFault';
  }
}

/** A fault of one field of a line. The reader, which has the number of the line, turns it into an InputError. */
export class FieldFault extends Error {
  constructor(field: string, what: string) {
    super(field === '' ? what : `${field} ${what}`);
    this.name = 'FieldFault';
  }
}

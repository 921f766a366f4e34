/** Resource versions of the API server, which grow by number. */

const NUMBER = /^\d{1,40}$/;

/** Whether both are numbers and the first is the smaller: an earlier state of an object, or of all of a kind. */
export function isEarlier(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined || !NUMBER.test(version) || !NUMBER.test(than)) return false;
  return BigInt(version) < BigInt(than);
}

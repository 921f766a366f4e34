/** Resource versions of the API server. They are numbers that increase. */

const NUMBER = /^\d{1,40}$/;

/**
 * Returns true if both versions are numbers and the first is smaller. It then belongs to an earlier state of an object or of a
 * kind.
 */
export function isEarlier(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined || !NUMBER.test(version) || !NUMBER.test(than)) return false;
  return BigInt(version) < BigInt(than);
}

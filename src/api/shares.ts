/** Shares of prices, such as `3%`. */

const SHARE = /^[0-9]{1,4}(\.[0-9]{1,2})?%$/;
/** The same pattern for schemas. */
export const SHARE_PATTERN = SHARE.source;

/** Returns a share as a number. Returns undefined if the text is absent or not valid. */
export const shareOf = (text: string | undefined): number | undefined =>
  text !== undefined && SHARE.test(text) ? Number.parseFloat(text) / 100 : undefined;

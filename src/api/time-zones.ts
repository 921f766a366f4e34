/** Names of IANA time zones. */
import { quoted, tryRun } from '#lib';

/** Returns an error if the name is not a time zone. */
export const timeZoneError = (timeZone: string): string | undefined =>
  tryRun(() => new Intl.DateTimeFormat('en', { timeZone })) === undefined
    ? `${quoted(timeZone)} is unknown; use the name of an IANA time zone such as Europe/Berlin`
    : undefined;

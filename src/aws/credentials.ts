/**
 * Credentials by the operator's clock. The SDK compares their expiration with the machine's clock: a machine that is behind
 * would sign with expired credentials, and a machine that is ahead would get new credentials for each request.
 */
import type { EC2Client } from '@aws-sdk/client-ec2';
import type { Timepiece } from '../lib/clock.ts';

type Provider = EC2Client['config']['credentials'];
type Credentials = Awaited<ReturnType<Provider>>;

/** Credentials that end sooner are renewed, as the SDK does. */
const EARLY_MS = 300_000;

/** Client whose credentials can be replaced. */
interface Signing {
  readonly config: { credentials: Provider };
}

/** Renews the client's credentials when they expire by `clock`. */
export function renewCredentialsBy<C extends Signing>(clock: Timepiece, { config }: C): void {
  const load = config.credentials;
  let known: Credentials | undefined;
  let loading: Promise<Credentials> | undefined;
  const isCurrent = ({ expiration }: Credentials): boolean =>
    expiration === undefined || expiration.getTime() - clock.now() >= EARLY_MS;

  const provide: Provider = async (options) => {
    if (known !== undefined && isCurrent(known) && options?.forceRefresh !== true) return known;
    // Without force the SDK compares its own copy with the machine's clock: it returns expired credentials, or loads
    // new ones in an endless loop if all are expired by that clock.
    loading ??= load({ ...options, forceRefresh: true }).finally(() => {
      loading = undefined;
    });
    known = await loading;
    return known;
  };
  // the SDK would otherwise put its own memory around it
  config.credentials = Object.assign(provide, { memoized: true });
}

/** Sends the log of decisions to a webhook, for example of Slack, signed and with retries. */
import { createHmac } from 'node:crypto';
import { after, type Outcome, type ReconcileContext, type Singleton } from '#kube/reconcilers';
import { type DecisionLog, type LogLine, logLines, NewLines } from '#observe/history';
import { errorText } from '#observe/logger';
import type { WebhookSettings } from '#process/settings';
import type { Deps } from '../deps.ts';

const INTERVAL_MS = 2_000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** Time limit of a request. */
const REQUEST_MS = 10_000;
/** Maximum number of lines in a request, and of lines that wait for one. */
const MOST_LINES = 20;
const MOST_WAITING = 500;

export type Post = (url: string, request: RequestInit) => Promise<Pick<Response, 'ok' | 'status' | 'body'>>;

export class Webhook implements Singleton {
  readonly name = 'decisions.webhook';
  readonly singleton = true;
  readonly #deps: Pick<Deps, 'clock' | 'settings'>;
  readonly #decisions: DecisionLog;
  readonly #settings: WebhookSettings;
  readonly #post: Post;
  /** Undefined until this replica leads. A replica on standby would repeat the lines of the leader. */
  #unseen: NewLines | undefined;
  #waiting: LogLine[] = [];
  /** Requests that failed in succession. */
  #failures = 0;
  #dropped = 0;

  constructor(
    deps: Pick<Deps, 'clock' | 'settings'>,
    parts: { readonly decisions: DecisionLog; readonly settings: WebhookSettings; readonly post?: Post },
  ) {
    this.#deps = deps;
    this.#decisions = parts.decisions;
    this.#settings = parts.settings;
    this.#post = parts.post ?? fetch;
  }

  async reconcile({ log }: ReconcileContext): Promise<Outcome> {
    this.#unseen ??= new NewLines([], Math.floor(this.#deps.clock.now() / 1000) * 1000);
    const { sinceMs } = this.#unseen;
    this.#waiting.push(...this.#unseen.take(logLines(this.#decisions.entries, { sinceMs })));
    const excess = this.#waiting.length - MOST_WAITING;
    if (excess > 0) this.#dropped += this.#waiting.splice(0, excess).length;
    if (this.#waiting.length === 0) return after(INTERVAL_MS);
    try {
      await this.#send(this.#waiting.slice(0, MOST_LINES));
    } catch (error) {
      this.#failures += 1;
      if (this.#failures === 1)
        log.warn('failed sending decisions to the webhook, trying again', { error: errorText(error) });
      return after(Math.min(LONGEST_WAIT_MS, INTERVAL_MS * 2 ** this.#failures));
    }
    this.#waiting = this.#waiting.slice(MOST_LINES);
    if (this.#failures > 0) log.info('the webhook accepts decisions again', { dropped: this.#dropped });
    this.#failures = 0;
    this.#dropped = 0;
    return after(this.#waiting.length > 0 ? 0 : INTERVAL_MS);
  }

  /** @throws Error if the webhook does not accept the request */
  async #send(lines: readonly LogLine[]): Promise<void> {
    const { clock, settings } = this.#deps;
    const { clusterName } = settings;
    const body = JSON.stringify({ text: slackText(lines, clusterName), cluster: clusterName, decisions: lines });
    const { url, secret } = this.#settings;
    const response = await this.#post(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...signatureOf(body, { secret, nowMs: clock.now() }) },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    // an unread body would keep its connection
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the webhook returned HTTP status ${response.status}`);
  }
}

/** The receiver computes the signature over the time, a dot and the body, and refuses old times. */
function signatureOf(
  body: string,
  { secret, nowMs }: { readonly secret: string; readonly nowMs: number },
): Readonly<Record<string, string>> {
  if (secret === '') return {};
  const time = String(Math.floor(nowMs / 1000));
  const digest = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return { 'x-karpenter-timestamp': time, 'x-karpenter-signature': `sha256=${digest}` };
}

/** Returns the text in the format of Slack, which interprets these characters. */
const slackText = (lines: readonly LogLine[], cluster: string): string =>
  lines
    .map(({ kind, text, before, after: then }) => {
      const size =
        before === undefined || then === undefined
          ? ''
          : ` (${before.nodes} → ${then.nodes} nodes, $${before.usdPerHour.toFixed(4)} → $${then.usdPerHour.toFixed(4)}/h)`;
      return `${cluster}: *${kind}* ${text}${size}`;
    })
    .join('\n')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');

/** Decisions reach a webhook once, signed, and after failures. */
import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { parseAwsSettings } from '#aws/settings';
import { DecisionLog } from '#observe/history';
import { type Post, Webhook } from '../../../../src/controllers/log/webhook.ts';
import { present } from '../../../support/present.ts';
import { recordingLog } from '../../kube/fakes.ts';
import { type SettableClock, settableClock } from '../../virtualclock.ts';

const SECRET = 'a-secret';
const URL = 'https://hooks.example.com/T1';

interface Received {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

let clock: SettableClock;
let decisions: DecisionLog;
let received: Received[];
let status: number;
let lines: ReturnType<typeof recordingLog>['lines'];
let reconcile: () => Promise<number | undefined>;

beforeEach(() => {
  clock = settableClock();
  decisions = new DecisionLog();
  received = [];
  status = 200;
  const env = { DECISION_WEBHOOK_URL: URL, DECISION_WEBHOOK_SECRET: SECRET };
  const settings = parseAwsSettings(['--cluster-name=prod'], env);
  const post: Post = async (url, { body, headers }) => {
    expect(url).toBe(URL);
    if (status >= 200 && status < 300)
      received.push({
        text: JSON.parse(String(body)).text,
        body: String(body),
        headers: headers as Received['headers'],
      });
    return { ok: status < 300, status, body: null };
  };
  const webhook = new Webhook({ clock, settings }, { decisions, settings: present(settings.decisionWebhook), post });
  const { log, lines: logged } = recordingLog();
  lines = logged;
  reconcile = async () => {
    const outcome = await webhook.reconcile({ log, signal: new AbortController().signal });
    return (outcome as { readonly waitMs?: number }).waitMs;
  };
});

const happen = (replica: string): void =>
  decisions.record({ kind: 'leader', at: new Date(clock.now()).toISOString(), replica, version: '1' });

describe('a webhook', () => {
  it('receives decisions once, as text for Slack and as data, with a signature', async () => {
    happen('<a> & b');
    happen('c');
    await reconcile();
    await reconcile();
    expect(received.map(({ text }) => text)).toEqual([
      'prod: *leader* &lt;a&gt; &amp; b is the leader, version 1\nprod: *leader* c is the leader, version 1',
    ]);
    const [{ body, headers }] = received as [Received];
    expect(JSON.parse(body)).toMatchObject({ cluster: 'prod', decisions: [{ kind: 'leader' }, { kind: 'leader' }] });
    const time = headers['x-karpenter-timestamp'];
    expect(Number(time)).toBe(Math.floor(clock.now() / 1000));
    const digest = createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex');
    expect(headers['x-karpenter-signature']).toBe(`sha256=${digest}`);
  });

  it('receives no decisions of the leader before', async () => {
    happen('a');
    await clock.advance(60_000);
    happen('b');
    await reconcile();
    expect(received.map(({ text }) => text)).toEqual(['prod: *leader* b is the leader, version 1']);
  });

  it('receives decisions again after failures, with growing waits and one message in the log', async () => {
    status = 503;
    happen('a');
    const waits = [await reconcile(), await reconcile(), await reconcile()];
    expect(waits).toEqual([4_000, 8_000, 16_000]);
    for (let tries = 0; tries < 20; tries += 1) expect(await reconcile()).toBeLessThanOrEqual(300_000);
    happen('b');
    status = 200;
    await reconcile();
    expect(received.map(({ text }) => text.split('\n').length)).toEqual([2]);
    expect(lines.map(({ message }) => message)).toEqual([
      'failed sending decisions to the webhook, trying again',
      'the webhook accepts decisions again',
    ]);
    expect(JSON.stringify(lines)).not.toContain('hooks.example.com');
  });

  it('keeps the last 500 decisions while it fails, and receives 20 in a request', async () => {
    status = 500;
    for (let index = 0; index < 600; index += 1) happen(`r${index}`);
    await reconcile();
    status = 200;
    for (let tries = 0; tries < 30; tries += 1) await reconcile();
    const texts = received.flatMap(({ text }) => text.split('\n'));
    expect(texts).toHaveLength(500);
    expect(texts[0]).toContain('r100 ');
    expect(Math.max(...received.map(({ text }) => text.split('\n').length))).toBe(20);
  });

  it.each(['ftp://a', 'hooks', 'https://user:secret@a/b'])('cannot have the URL %s, which no error repeats', (url) => {
    expect(() => parseAwsSettings(['--cluster-name=a'], { DECISION_WEBHOOK_URL: url })).toThrow(
      /^DECISION_WEBHOOK_URL/,
    );
    expect(() => parseAwsSettings(['--cluster-name=a'], { DECISION_WEBHOOK_URL: url })).not.toThrow(url);
  });
});

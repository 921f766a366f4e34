/** Settings of traces. They use OpenTelemetry's environment variables, but only the variables in this list. */
import { quoted, tryRun } from '#lib';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns both names of a setting: for all signals, and only for traces. */
const forTraces = (name: string): string =>
  `OTEL_EXPORTER_OTLP_${name}, or OTEL_EXPORTER_OTLP_TRACES_${name} for traces only`;

/** Descriptions for the reference page, by the first documented name. */
export const TRACING_VARIABLES: Readonly<Record<string, string>> = {
  OTEL_EXPORTER_OTLP_ENDPOINT: 'URL of a collector, to which `/v1/traces` is added; empty for no traces',
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'complete URL for traces; takes precedence over the other setting',
  OTEL_EXPORTER_OTLP_HEADERS: `Headers, for example a token, as \`name=value,other=value\`: ${forTraces('HEADERS')}`,
  OTEL_EXPORTER_OTLP_PROTOCOL: `Only \`http/protobuf\` is supported: ${forTraces('PROTOCOL')}`,
  OTEL_EXPORTER_OTLP_COMPRESSION: `\`gzip\` or \`none\`, the default: ${forTraces('COMPRESSION')}`,
  OTEL_EXPORTER_OTLP_TIMEOUT: `Milliseconds after which an export has failed, default 10000: ${forTraces('TIMEOUT')}`,
  OTEL_EXPORTER_OTLP_CERTIFICATE: `CA file for the verification of the collector: ${forTraces('CERTIFICATE')}`,
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: `Certificate file of the operator: ${forTraces('CLIENT_CERTIFICATE')}`,
  OTEL_EXPORTER_OTLP_CLIENT_KEY: `Key file of this certificate: ${forTraces('CLIENT_KEY')}`,
  OTEL_SERVICE_NAME: 'Name of the service in traces, default `karpenter`',
  OTEL_RESOURCE_ATTRIBUTES: 'Further attributes of the service, as `name=value,other=value`',
  OTEL_TRACES_SAMPLER:
    'Sampler of traces: `always_on`, `always_off` or `traceidratio`, each also after `parentbased_`; default all',
  OTEL_TRACES_SAMPLER_ARG: 'Part of the traces that `traceidratio` sends, from 0 to 1; default 1',
  OTEL_BSP_MAX_QUEUE_SIZE:
    'Maximum number of finished spans that wait for the collector, default 2048; further spans are dropped',
  OTEL_BSP_SCHEDULE_DELAY: 'Milliseconds between exports, default 5000',
  OTEL_TRACES_EXPORTER: '`none` disables traces even if an endpoint is set; otherwise `otlp`',
  OTEL_SDK_DISABLED: '`true` disables traces even if an endpoint is set',
};

export interface TracingSettings {
  readonly url: string;
  /** A function, so that tokens do not appear if the settings are printed. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly compression: 'gzip' | 'none';
  readonly serviceName: string | undefined;
  readonly resourceAttributes: Readonly<Record<string, string>>;
  /** Share of the traces that are sent, from 0 to 1. */
  readonly ratio: number;
  readonly queueSize: number;
  readonly delayMs: number;
}

interface ParsedTracing {
  /** Undefined if traces are off. */
  readonly tracing: TracingSettings | undefined;
  /** Invalid values, each with a remedy. They are not errors, because a trace setting must never prevent the launch of nodes. */
  readonly problems: readonly string[];
}

export function parseTracing(env: Environment): ParsedTracing {
  if (!isWanted(env)) return { tracing: undefined, problems: [] };
  const reader = new Reader(env);
  const url = endpoint(reader);
  const protocol = reader.text('PROTOCOL') ?? 'http/protobuf';
  if (protocol !== 'http/protobuf')
    reader.refuse(
      `OTEL_EXPORTER_OTLP_PROTOCOL ${quoted(protocol)} is not supported, traces are disabled: ` +
        'set http/protobuf, and an endpoint that supports it, for example port 4318 of a collector',
    );
  const isUsable = url !== undefined && protocol === 'http/protobuf';
  const settings = {
    headers: reader.pairs('OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'),
    timeoutMs: reader.count(['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'], 10_000),
    compression: compression(reader),
    serviceName: reader.value('OTEL_SERVICE_NAME'),
    resourceAttributes: reader.pairs('OTEL_RESOURCE_ATTRIBUTES'),
    ratio: ratio(reader),
    queueSize: reader.count(['OTEL_BSP_MAX_QUEUE_SIZE'], 2_048),
    delayMs: reader.count(['OTEL_BSP_SCHEDULE_DELAY'], 5_000),
  };
  const { headers } = settings;
  const tracing = isUsable ? { ...settings, url, headers: () => headers } : undefined;
  return { tracing, problems: reader.problems };
}

function isWanted(env: Environment): boolean {
  const hasEndpoint = [env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, env.OTEL_EXPORTER_OTLP_ENDPOINT].some((url) => url);
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none';
  return hasEndpoint && !isOff;
}

/** Reads variables and collects their problems. */
class Reader {
  readonly problems: string[] = [];
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  refuse(problem: string): void {
    this.problems.push(problem);
  }

  /** Returns the value of a variable. OpenTelemetry treats an empty variable as not set. */
  value(name: string): string | undefined {
    return this.#env[name]?.trim() || undefined;
  }

  text(name: string): string | undefined {
    return this.value(`OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? this.value(`OTEL_EXPORTER_OTLP_${name}`);
  }

  count(names: readonly string[], fallback: number): number {
    const name = names.find((candidate) => this.value(candidate) !== undefined);
    if (name === undefined) return fallback;
    const value = Number(this.value(name));
    if (Number.isSafeInteger(value) && value > 0) return value;
    this.refuse(
      `${name} ${quoted(this.value(name) ?? '')} is invalid, using ${fallback}: set an integer greater than 0`,
    );
    return fallback;
  }

  /**
   * Reads name-value pairs from all variables. Later variables take precedence. Values may be tokens, so problems must not
   * contain them.
   */
  pairs(...names: readonly string[]): Readonly<Record<string, string>> {
    const found: [string, string][] = [];
    for (const name of names) {
      for (const pair of (this.value(name) ?? '').split(',')) {
        const read = pairOf(pair);
        if (read !== undefined) found.push(read);
        else if (pair.trim() !== '')
          this.refuse(`an entry of ${name} is ignored: use name=value, and write a comma as %2C`);
      }
    }
    return Object.fromEntries(found);
  }
}

function pairOf(text: string): [string, string] | undefined {
  const at = text.indexOf('=');
  if (at < 1) return undefined;
  return tryRun(() => [decodeURIComponent(text.slice(0, at).trim()), decodeURIComponent(text.slice(at + 1).trim())]);
}

function endpoint(reader: Reader): string | undefined {
  const own = reader.value('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const common = reader.value('OTEL_EXPORTER_OTLP_ENDPOINT') ?? '';
  const url = URL.parse(own ?? `${common.replace(/\/$/, '')}/v1/traces`);
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url.href;
  const name = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  reader.refuse(`${name} is not a URL, traces are disabled: set a URL, for example http://collector.example:4318`);
  return undefined;
}

function compression(reader: Reader): 'gzip' | 'none' {
  const value = reader.text('COMPRESSION') ?? 'none';
  if (value === 'gzip' || value === 'none') return value;
  reader.refuse(
    `OTEL_EXPORTER_OTLP_COMPRESSION ${quoted(value)} is not supported, compression is disabled: set gzip or none`,
  );
  return 'none';
}

/**
 * Returns the share of traces to send. The operator's traces have no remote parents, so the parent settings of samplers have no
 * effect.
 */
function ratio(reader: Reader): number {
  const name = reader.value('OTEL_TRACES_SAMPLER') ?? 'always_on';
  const root = name.replace(/^parentbased_/, '');
  if (root === 'always_on') return 1;
  if (root === 'always_off') return 0;
  if (root !== 'traceidratio') {
    const known = 'always_on, always_off or traceidratio';
    reader.refuse(`OTEL_TRACES_SAMPLER ${quoted(name)} is not supported, all traces are sent: set ${known}`);
    return 1;
  }
  const text = reader.value('OTEL_TRACES_SAMPLER_ARG') ?? '1';
  const value = Number(text);
  if (value >= 0 && value <= 1) return value;
  reader.refuse(`OTEL_TRACES_SAMPLER_ARG ${quoted(text)} is invalid, all traces are sent: set a number from 0 to 1`);
  return 1;
}

/** OpenTelemetry's environment variables, and how invalid ones are handled. */
import { describe, expect, it } from '@jest/globals';
import { parseAwsSettings } from '#aws/settings';
import { parseTracing, TRACING_VARIABLES } from '../../../../src/observe/traces/settings.ts';

const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

const parsed = (env: Record<string, string>) => parseTracing({ ...COLLECTOR, ...env });

describe('tracing', () => {
  it.each([
    { when: 'nothing is set', env: {} },
    { when: 'the endpoint is empty', env: { OTEL_EXPORTER_OTLP_ENDPOINT: '' } },
    {
      when: 'only unrelated variables are set',
      env: { OTEL_SERVICE_NAME: 'nodes', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    },
    { when: 'the exporter is none', env: { ...COLLECTOR, OTEL_TRACES_EXPORTER: 'none' } },
    { when: 'the SDK is disabled', env: { ...COLLECTOR, OTEL_SDK_DISABLED: 'TRUE' } },
  ])('is disabled if $when', ({ env }) => {
    expect(parseTracing(env)).toEqual({ tracing: undefined, problems: [] });
  });

  it('sends spans to /v1/traces of the endpoint, with the defaults of OpenTelemetry', () => {
    const { tracing, problems } = parsed({});
    expect(problems).toEqual([]);
    expect(tracing).toMatchObject({
      url: 'http://collector:4318/v1/traces',
      timeoutMs: 10_000,
      compression: 'none',
      serviceName: undefined,
      resourceAttributes: {},
      ratio: 1,
      queueSize: 2_048,
      delayMs: 5_000,
    });
    expect(tracing?.headers()).toEqual({});
  });

  it.each([
    { base: 'http://collector:4318/', url: 'http://collector:4318/v1/traces' },
    { base: 'https://collector/otlp', url: 'https://collector/otlp/v1/traces' },
  ])('uses $url for the endpoint $base', ({ base, url }) => {
    expect(parsed({ OTEL_EXPORTER_OTLP_ENDPOINT: base }).tracing?.url).toBe(url);
  });

  it('prefers variables for traces to variables for all signals', () => {
    const { tracing, problems } = parsed({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/in',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=2',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: ' b = Bearer%20x%2Cy ',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
      OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip',
    });
    expect(problems).toEqual([]);
    expect(tracing).toMatchObject({ url: 'https://traces.example/in', timeoutMs: 2_000, compression: 'gzip' });
    expect(tracing?.headers()).toEqual({ a: '1', b: 'Bearer x,y' });
  });

  it.each([
    { sampler: 'always_on', is: 1 },
    { sampler: 'parentbased_always_on', is: 1 },
    { sampler: 'always_off', is: 0 },
    { sampler: 'traceidratio', argument: '0.25', is: 0.25 },
    { sampler: 'parentbased_traceidratio', argument: '0', is: 0 },
    { sampler: 'traceidratio', is: 1 },
  ])('samples with ratio $is for the sampler $sampler', ({ sampler, argument = '', is }) => {
    const env = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
    expect(parsed(env)).toMatchObject({ tracing: { ratio: is }, problems: [] });
  });

  it.each([
    {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
      says: /OTEL_EXPORTER_OTLP_ENDPOINT is not a URL, .* set a URL/,
    },
    { env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'nowhere' }, says: /OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not a URL/ },
    {
      env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
      says: /PROTOCOL "http\/json" is not supported, traces are disabled: set/,
    },
  ])('is disabled, with a reason and a remedy, for $env', ({ env, says }) => {
    const { tracing, problems } = parsed(env);
    expect(tracing).toBeUndefined();
    expect(problems).toEqual([expect.stringMatching(says)]);
  });

  it.each([
    { name: 'OTEL_EXPORTER_OTLP_TIMEOUT', value: 'soon', is: { timeoutMs: 10_000 } },
    { name: 'OTEL_BSP_MAX_QUEUE_SIZE', value: '0', is: { queueSize: 2_048 } },
    { name: 'OTEL_BSP_SCHEDULE_DELAY', value: '-1', is: { delayMs: 5_000 } },
    { name: 'OTEL_EXPORTER_OTLP_COMPRESSION', value: 'brotli', is: { compression: 'none' } },
    { name: 'OTEL_TRACES_SAMPLER', value: 'jaeger_remote', is: { ratio: 1 } },
  ])('reports that $name "$value" is ignored, and uses the default', ({ name, value, is }) => {
    const { tracing, problems } = parsed({ [name]: value });
    expect(tracing).toMatchObject(is);
    expect(problems).toEqual([
      expect.stringMatching(new RegExp(`${name} "${value}" is (?:not supported|invalid), .*: set `)),
    ]);
  });

  it('reports invalid list entries without their values', () => {
    const { tracing, problems } = parsed({ OTEL_EXPORTER_OTLP_HEADERS: 'good=1,secret-token,bad=%zz,=x' });
    expect(tracing?.headers()).toEqual({ good: '1' });
    expect(problems).toHaveLength(3);
    expect(problems.join()).not.toMatch(/secret-token|%zz/);
    expect(problems[0]).toContain('OTEL_EXPORTER_OTLP_HEADERS');
  });

  it('does not include the headers in printed settings', () => {
    const env = { CLUSTER_NAME: 'demo', ...COLLECTOR, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret-token' };
    const settings = parseAwsSettings([], env);
    expect(settings.tracing?.headers()).toEqual({ authorization: 'secret-token' });
    expect(JSON.stringify(settings)).not.toContain('secret-token');
  });

  it('does not prevent the operator from starting', () => {
    const { tracing, ignored } = parseAwsSettings([], { CLUSTER_NAME: 'demo', OTEL_EXPORTER_OTLP_ENDPOINT: '::' });
    expect(tracing).toBeUndefined();
    expect(ignored).toEqual([expect.stringContaining('OTEL_EXPORTER_OTLP_ENDPOINT')]);
  });

  it('documents every variable that it reads', () => {
    const asked = new Set<string>();
    const env = new Proxy(COLLECTOR as Record<string, string>, {
      get: (target, name: string) => {
        asked.add(name);
        return name === 'OTEL_TRACES_SAMPLER' ? 'traceidratio' : target[name];
      },
    });
    parseTracing(env);
    const text = Object.entries(TRACING_VARIABLES).flat().join();
    for (const name of asked) expect(text).toContain(name);
  });
});

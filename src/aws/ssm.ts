/** Resolves image IDs in SSM parameters. */
import { GetParameterCommand, type SSMClient } from '@aws-sdk/client-ssm';
import { messageOf } from '#lib';
import { type Clock, TtlCache } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { UnusableAnswer } from './answers/unusable.ts';

export interface Parameter {
  readonly name: string;
  /** True if AWS changes this value over time, as for `latest`. */
  readonly mutable: boolean;
  /** True if the user set this parameter, instead of an alias. */
  readonly custom: boolean;
}

const CALL = { service: 'SSM', operation: 'GetParameter' };
const IMAGE_ID = /^ami-[0-9a-z]{1,32}$/;
const CUSTOM_TTL_MS = 5 * 60_000;
const ALIAS_TTL_MS = 24 * 3_600_000;

export class SsmParameters {
  readonly #ssm: SSMClient;
  readonly #log: Logger;
  readonly #cache: TtlCache<string, { parameter: Parameter; value: string }>;

  constructor(ssm: SSMClient, clock: Clock, log: Logger) {
    this.#ssm = ssm;
    this.#log = log;
    this.#cache = new TtlCache(clock, ALIAS_TTL_MS);
  }

  /** @throws Error if the parameter cannot be read. Errors are not cached */
  async get(parameter: Parameter): Promise<string> {
    const known = this.#cache.get(parameter.name);
    if (known !== undefined) return known.value;
    let value: string | undefined;
    try {
      const answer = await this.#ssm.send(new GetParameterCommand({ Name: parameter.name }));
      value = answer.Parameter?.Value;
      if (value === undefined) throw new Error('SSM returned no value');
      // EC2 would report an invalid image ID as an image that does not exist.
      if (!parameter.custom && !IMAGE_ID.test(value)) throw new UnusableAnswer(CALL, 'the value is not an image ID');
    } catch (error) {
      const text = messageOf(error);
      throw new Error(`getting ssm parameter, ${text} (parameter=${parameter.name})`, { cause: error });
    }
    this.#cache.set(parameter.name, { parameter, value }, parameter.custom ? CUSTOM_TTL_MS : ALIAS_TTL_MS);
    this.#log.info('discovered ssm parameter', { parameter: parameter.name, value });
    return value;
  }

  /** Returns cached parameters whose value AWS may have changed, by name. */
  mutable(): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    for (const name of this.#cache.keys()) {
      const entry = this.#cache.get(name);
      if (entry?.parameter.mutable === true && !entry.parameter.custom) found.set(name, entry.value);
    }
    return found;
  }

  forget(name: string): void {
    this.#cache.delete(name);
  }
}

/** Reads the file that describes the world of a replay. */

import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { checkSchema } from '../../api/schema/check.ts';
import { formatValue, infinite, unknownFields } from '../../api/schema/file-faults.ts';
import type { OpenApiSchema } from '../../api/schema/openapi.ts';
import { messageOf } from '../../lib/error-message.ts';
import { InputError } from '../../lib/input-error.ts';
import { isObject } from '../../lib/json-object.ts';
import { timeOf } from '../../lib/times.ts';
import type { TraceHeader } from '../trace/trace.ts';
import { readPriceHistory } from './price-history.ts';
import { WORLD_FILE, type WorldFile } from './world-file.ts';
import { DEFAULT_WORLD, type WorldModel } from './world-model.ts';

/** Start and duration of the trace, which determine the relevant part of a price history. */
export type TraceTimes = Pick<TraceHeader, 'start' | 'seconds'>;

/** @throws InputError with the file, the field and the remedy */
export async function readWorld(path: string, span: TraceTimes): Promise<WorldModel> {
  const file = worldIn(await textOf(path, path, 'the world'), path);
  const { pricesFrom } = file.spot ?? {};
  const model = withDefaults(file);
  checkTogether(model, path);
  if (pricesFrom === undefined) return model;
  if (file.spot?.prices !== undefined)
    throw new InputError(path, 'spot.pricesFrom: must not be combined with spot.prices; remove one of them');
  const history = await textOf(resolve(dirname(path), pricesFrom.file), path, 'spot.pricesFrom.file');
  const startMs = timeOf(pricesFrom.start ?? span.start);
  const from = { world: path, file: pricesFrom.file, region: model.region, startMs, seconds: span.seconds };
  return { ...model, spot: { ...model.spot, prices: readPriceHistory(history, from) } };
}

async function textOf(path: string, world: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new InputError(world, `${what} cannot be read from ${path}: ${messageOf(error)}; correct the path`, {
      cause: error,
    });
  }
}

function worldIn(text: string, path: string): WorldFile {
  let root: unknown;
  try {
    root = parse(text, { maxAliasCount: 0 }) ?? {};
  } catch (error) {
    throw new InputError(path, `neither YAML nor JSON: ${messageOf(error)}; correct the syntax`, { cause: error });
  }
  if (!isObject(root))
    throw new InputError(path, `must be an object with fields such as spot, not ${formatValue(root)}`);
  const schema = WORLD_FILE as object as OpenApiSchema;
  const [unknown] = unknownFields(root, schema);
  if (unknown !== undefined) throw new InputError(path, `${unknown}; correct its name, or remove it`);
  const [cause] = checkSchema(schema, root);
  const wrong = cause === undefined ? infinite(root) : `${cause.field}: ${cause.message}`;
  if (wrong !== undefined) throw new InputError(path, `${wrong}; correct the field, or remove it to use the default`);
  return root as WorldFile;
}

function withDefaults(file: WorldFile): WorldModel {
  const { bootSeconds, spot, soldOut, ...rest } = file;
  const { pricesFrom: _, ...market } = spot ?? {};
  return {
    ...DEFAULT_WORLD,
    ...rest,
    bootSeconds: { ...DEFAULT_WORLD.bootSeconds, ...bootSeconds },
    spot: { ...DEFAULT_WORLD.spot, ...market },
    soldOut: { ...DEFAULT_WORLD.soldOut, ...soldOut },
  };
}

/** Checks constraints between several fields. */
function checkTogether({ bootSeconds: { p50, p95 } }: WorldModel, path: string): void {
  if (p95 < p50)
    throw new InputError(
      path,
      `bootSeconds.p95: is ${p95}, less than the median p50, ${p50}; set p95 to ${p50} or more`,
    );
}

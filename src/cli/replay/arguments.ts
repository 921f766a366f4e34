/** Validates arguments of the operator before a replay starts. */
import { nearestName } from '../../lib/nearest-name.ts';
import { quoted } from '../../lib/quoted.ts';
import { HelpRequested, OPTIONS, parseSettings, SettingsError } from '../../process/settings.ts';
import { InputError } from '../objects/errors.ts';

/** Required setting of the operator. The name of a replay's cluster has no meaning. */
const ENVIRONMENT = { CLUSTER_NAME: 'replay' };

const FLAGS: readonly string[] = Object.values(OPTIONS).map(({ flag }) => flag);

/**
 * Checks arguments and returns notes about valid arguments without effect.
 *
 * @param where option that contains the arguments, such as `--compare ours`
 * @throws InputError with the argument, and with a similar flag if one exists
 */
export function checkArguments(args: readonly string[], where: string): readonly string[] {
  try {
    return parseSettings(args, ENVIRONMENT).ignored.map((note) => `${where}: ${note}`);
  } catch (error) {
    if (error instanceof HelpRequested)
      throw new InputError(where, `${helpOf(args)} is not a setting; see docs/reference/settings.md`, {
        cause: error,
      });
    if (!(error instanceof SettingsError)) throw error;
    throw new InputError(where, `${error.message}${meant(args)}`, { cause: error });
  }
}

const helpOf = (args: readonly string[]): string => args.find((each) => /^--?h(?:elp)?$/.test(each)) ?? '--help';

/** Suggests a similar flag for the first unknown flag. */
function meant(args: readonly string[]): string {
  for (const argument of args) {
    const flag = /^--?([^-=][^=]*)/.exec(argument)?.[1];
    if (flag === undefined || FLAGS.includes(flag)) continue;
    const near = nearestName(flag, FLAGS);
    if (near !== undefined) return `; did you mean ${quoted(`--${near}`)}?`;
  }
  return '';
}

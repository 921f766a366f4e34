/** Arguments of the operator, checked before anything is played with them. */
import { nearestName } from '../../lib/nearest-name.ts';
import { quoted } from '../../lib/quoted.ts';
import { HelpRequested, OPTIONS, parseSettings, SettingsError } from '../../process/settings.ts';
import { InputError } from '../objects/errors.ts';

/** The operator asks for one; a replay's cluster has no name that anybody chose. */
const ENVIRONMENT = { CLUSTER_NAME: 'replay' };

const FLAGS: readonly string[] = Object.values(OPTIONS).map(({ flag }) => flag);

/**
 * Answers what is to be said of arguments that can be used.
 * @param where they belong, such as `--compare ours`
 * @throws InputError that names the argument, and the flag that may be meant
 */
export function checkArguments(args: readonly string[], where: string): readonly string[] {
  try {
    return parseSettings(args, ENVIRONMENT).ignored.map((note) => `${where}: ${note}`);
  } catch (error) {
    if (error instanceof HelpRequested)
      throw new InputError(where, `${helpOf(args)} is no setting; docs/reference/settings.md lists them`, {
        cause: error,
      });
    if (!(error instanceof SettingsError)) throw error;
    throw new InputError(where, `${error.message}${meant(args)}`, { cause: error });
  }
}

const helpOf = (args: readonly string[]): string => args.find((each) => /^--?h(?:elp)?$/.test(each)) ?? '--help';

/** What is said of the first flag that there is not. */
function meant(args: readonly string[]): string {
  for (const argument of args) {
    const flag = /^--?([^-=][^=]*)/.exec(argument)?.[1];
    if (flag === undefined || FLAGS.includes(flag)) continue;
    const near = nearestName(flag, FLAGS);
    if (near !== undefined) return `; is ${quoted(`--${near}`)} meant?`;
  }
  return '';
}

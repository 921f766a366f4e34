/** `npm run cluster:down`: stops the control plane of `npm run cluster:up`. */
import { end, kept } from './kept.ts';

const one = await kept();
if (one) await end(one);
process.stderr.write(one ? `ended ${one.url}\n` : 'no control plane was left running\n');

export { messageOf } from '../../lib/error-message.ts';
export { InputError } from '../../lib/input-error.ts';

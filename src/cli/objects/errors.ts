export { InputError, messageOf } from '#lib';

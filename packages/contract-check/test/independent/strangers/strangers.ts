import { aspnet } from './aspnet.ts';
import { etags } from './etags.ts';
import { fastapi } from './fastapi.ts';
import { spring } from './spring.ts';
import { stripe } from './stripe.ts';
import { twilio } from './twilio.ts';

/** Servers in the shapes of frameworks and well-known APIs. */
export const strangers = { aspnet, etags, fastapi, spring, stripe, twilio };

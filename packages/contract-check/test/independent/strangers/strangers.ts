import { aip } from './aip.ts';
import { aspnet } from './aspnet.ts';
import { drf } from './drf.ts';
import { etags } from './etags.ts';
import { fastapi } from './fastapi.ts';
import { github } from './github.ts';
import { jsonapi } from './jsonapi.ts';
import { spring } from './spring.ts';
import { stripe } from './stripe.ts';
import { twilio } from './twilio.ts';

/** Servers in the shapes of frameworks and well-known APIs. */
export const strangers = { aip, aspnet, drf, etags, fastapi, github, jsonapi, spring, stripe, twilio };

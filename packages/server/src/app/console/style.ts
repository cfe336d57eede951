import { pageStyle } from '../../wire/page-style.ts';

export const style = pageStyle(`body{font-size:.9375rem}
.top{display:flex;flex-wrap:wrap;align-items:center;gap:.25rem 1.25rem;padding:.75rem 1.5rem;background:var(--card);border-bottom:1px solid var(--line)}
.top p{margin:0}
.brand{font-weight:700}
.tenant{color:var(--soft)}
.top form{margin-left:auto}
.search{display:flex;gap:.5rem;flex:0 1 26rem}
.search input{margin:0;min-width:0}
.shell{display:grid;grid-template-columns:13rem minmax(0,1fr);max-width:100rem;margin:0 auto}
nav ul{list-style:none;margin:0;padding:1.5rem 1rem;display:grid;gap:.125rem}
nav a{display:block;padding:.5rem .75rem;border-radius:.5rem;color:inherit;text-decoration:none}
nav a:hover{background:var(--info-bg)}
nav a[aria-current]{background:var(--info-bg);color:var(--accent);font-weight:600}
main{padding:1.5rem 1.5rem 3rem;min-width:0}
.narrow{max-width:32rem;margin:4rem auto 0}
h1{font-size:1.5rem;margin-bottom:.25rem}
h2{font-size:1.0625rem;margin:0 0 .5rem}
h3{font-size:.9375rem;margin:1rem 0 .25rem}
.lead{margin-bottom:1.25rem}
.soft{color:var(--soft)}
.card{padding:1.25rem 1.5rem}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem}
.cards .card{margin:0}
.links-row{margin:0 0 1rem}
.balances{grid-template-columns:repeat(auto-fill,minmax(min(18rem,100%),1fr));margin:0 0 1rem}.figure .amount{white-space:normal}.cards dt{font-weight:600;color:inherit}.cards dd.figure{margin-bottom:0;font-size:1.375rem}
.figure{font-size:1.75rem;font-weight:600;line-height:1.2;margin:.25rem 0;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto;margin:0 -1.5rem;padding:0 1.5rem}
th,td{max-width:26rem;overflow-wrap:break-word;padding:.5rem 1rem .5rem 0}
thead th{font-size:.8125rem;white-space:nowrap}
tbody tr:last-child :is(th,td){border-bottom:0}
tbody th{font-weight:600}tbody th:has(input){white-space:nowrap}
td.number,th.number{text-align:right;white-space:nowrap}
thead th a{color:inherit}
ul.plain{list-style:none;margin:0;padding:0}
.amount{white-space:nowrap}
td form{margin:0}
code{font:.8125rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;overflow-wrap:anywhere}
pre{margin:0;font:.8125rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
dl{grid-template-columns:minmax(9rem,14rem) minmax(0,1fr);gap:.375rem 1.25rem;margin:.5rem 0}
dt{overflow-wrap:anywhere}
dd dl{grid-template-columns:minmax(7rem,10rem) minmax(0,1fr);margin:0}
.badge{display:inline-block;border-radius:1rem;padding:.0625rem .625rem;font-size:.8125rem;font-weight:600;background:var(--info-bg);color:var(--text);white-space:nowrap}
.badge.bad{background:var(--error-bg);color:var(--error)}
.badge.good{background:var(--good-bg);color:var(--good)}
.hint,.fault{font-size:.8125rem}.fault{color:var(--error);font-weight:600}
input[type=checkbox]{display:inline-block;margin-right:.625rem;vertical-align:-.25rem}
.form{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(17rem,100%),1fr));gap:1rem}
fieldset{align-content:start;border:1px solid var(--line);border-radius:.5rem;margin:1rem 0 0;padding:.75rem 1rem;display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:.5rem}
.form>fieldset{grid-column:1/-1;margin:0}fieldset textarea{min-height:2.75rem}
.choice{font-weight:400}
.form p{margin:.25rem 0 0}
textarea{min-height:7rem;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.8125rem}
button,.button{padding:.5rem 1rem;min-height:2.75rem;display:inline-flex;gap:.3em;align-items:center;justify-content:center}
button.danger{background:transparent;border-color:var(--error);color:var(--error)}
button.danger:hover{background:var(--error-bg)}
.filter{display:grid;grid-template-columns:minmax(0,2fr) minmax(0,1fr) minmax(0,2fr) auto;gap:.75rem;align-items:end}
.row{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end;margin-top:1rem}
.row form{margin:0}.row>span{align-self:center}
.row>details[open]{flex-basis:100%}.row>details[open]>summary{margin-bottom:.75rem}.row>details>summary{border:1px solid var(--accent);border-radius:.5rem;padding:.5rem 1rem;width:max-content}.row>details>summary::after{content:"…"}td summary{min-height:1.5rem}
summary{min-height:2.75rem;display:flex;align-items:center;font-weight:600}
h1+:is(*,.card){margin-top:1rem}
.scope .form{grid-template-columns:repeat(auto-fit,minmax(min(10rem,100%),1fr))}.filter>button{justify-self:start}
.chips{list-style:none;display:flex;flex-wrap:wrap;gap:.5rem;margin:0 0 1rem;padding:0}
.chips li{background:var(--info-bg);border-radius:1rem;padding:.25rem .25rem .25rem .75rem;overflow-wrap:anywhere}
.chips li>a:last-child{display:inline-block;padding:0 .5rem;text-decoration:none;font-weight:700}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(22rem,100%),1fr));gap:1rem;margin-bottom:1rem}
.charts>*{margin:0}
.chart svg{display:block;width:100%;height:auto;overflow:visible;font:11px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.legend{display:flex;gap:1rem;font-size:.8125rem;margin:0 0 .25rem}
.key::before{content:"";display:inline-block;width:.75rem;height:.75rem;border-radius:.125rem;margin-right:.375rem;background:var(--accent)}
.key.second::before{background:var(--field)}
.beside>iframe{display:none}
.links{list-style:none;margin:0;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:.25rem 1rem}
.links a{display:block;padding:.375rem 0}
@media (min-width:75rem){.card>dl{grid-template-columns:repeat(2,minmax(8rem,12rem) minmax(0,1fr))}.beside{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,30rem);gap:1rem;align-items:start}.beside>iframe{display:block;position:sticky;top:1rem;width:100%;height:min(90vh,46rem);border:1px solid var(--line);border-radius:.75rem}.beside .card>dl{grid-template-columns:minmax(8rem,12rem) minmax(0,1fr)}}
@media (max-width:48rem){.shell{display:block}nav{overflow-x:auto;background:var(--card);border-bottom:1px solid var(--line)}nav ul{display:flex;padding:.5rem 1rem;width:max-content}
nav a{white-space:nowrap;min-height:2.75rem;display:flex;align-items:center}main{padding:1.25rem 1rem 2rem}.top{padding:.75rem 1rem}.search{order:1;flex:1 0 100%}.card{padding:1rem}.scroll{margin:0 -1rem;padding:0 1rem}
dl,dd dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}.filter{grid-template-columns:1fr}table,tbody,tr,tbody th,td{display:block}thead{display:none}tbody tr{padding:.5rem 0;border-bottom:1px solid var(--line)}tbody tr:last-child{border-bottom:0}tbody :is(th,td){border:0;padding:.125rem 0;max-width:none}td{display:flex;justify-content:space-between;gap:1rem;overflow-wrap:anywhere}td::before{content:attr(data-label);color:var(--soft);flex:none}td:empty{display:none}.narrow{margin-top:1.5rem}}
`);

/** The content policy of a page that shows a document of the service beside its own content. */
export const framingPolicy = `${style.policy}; frame-src 'self'`;

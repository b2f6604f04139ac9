/* The client of a program on encrypted data: keys, encryption of inputs, decryption of outputs.
 *
 * A server publishes the specification of its program, at /programs/NAME of `polyfabric serve` for example. The functions may be called
 * from several threads, also with one client, except that nobody may use what another thread frees.
 */
#ifndef POLYFABRIC_CLIENT_H
#define POLYFABRIC_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a call succeeded. If not, `pf_error` has the reason, and nothing was written to the call's results. */
typedef enum pf_status {
    PF_OK = 0,
    PF_FILE = 1,      /* a specification, key or message that is damaged, or of another program or client */
    PF_INPUT = 2,     /* a value that the program does not take, or ciphertexts that decrypt to none */
    PF_PARAMETER = 3, /* a parameter set that is invalid, or beyond the limits */
    PF_RUN = 4,       /* no randomness or no memory */
    PF_CALL = 5,      /* an argument of the call: a null pointer, or a text that is not UTF-8 */
    PF_DEFECT = 6     /* a defect of this library */
} pf_status;

/* Bytes of this library. A zero, which `size` does not count, follows them, so that texts are C strings. */
typedef struct pf_bytes {
    uint8_t *data;
    size_t size;
} pf_bytes;

/* Limits on a specification, because a client need not trust its author. */
typedef struct pf_limits {
    double security;    /* least security of the parameter set, in bits */
    uint64_t key_bytes; /* most bytes of an evaluation key */
} pf_limits;

/* The holder of a secret key. */
typedef struct pf_client pf_client;

/* Generates a secret key with the operating system's randomness. Without `limits` (NULL) they are 128 bits and 4 GiB. */
pf_status pf_client_generate(const uint8_t *specification, size_t size, const pf_limits *limits, pf_client **client);

/* The client with a secret key from `pf_client_save`, or from a file `client.key`. */
pf_status pf_client_load(const uint8_t *specification, size_t size, const uint8_t *key, size_t key_size,
                         const pf_limits *limits, pf_client **client);

/* The secret key. Whoever has it can decrypt everything. */
pf_status pf_client_save(const pf_client *client, pf_bytes *key);

/* A new evaluation key, with which a server computes. It decrypts nothing. */
pf_status pf_client_evaluation_key(const pf_client *client, pf_bytes *key);

/* Encrypts inputs, a JSON object such as {"bid": 200, "reserve": 150}, to a request for the server. */
pf_status pf_client_encrypt(const pf_client *client, const char *inputs, pf_bytes *request);

/* Decrypts a server's answer to a JSON object such as {"result": 1}. */
pf_status pf_client_decrypt(const pf_client *client, const uint8_t *answer, size_t size, pf_bytes *outputs);

/* Wipes the secret key and frees the client; nothing happens for NULL. */
void pf_client_free(pf_client *client);

/* Wipes and frees the bytes, and sets `data` to NULL; nothing happens if it is NULL already. */
void pf_bytes_free(pf_bytes *bytes);

/* What went wrong in the thread's last call that failed, and the remedy. Valid until its next call. */
const char *pf_error(void);

#ifdef __cplusplus
}
#endif

#endif

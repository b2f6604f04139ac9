/* A client of auction.py in C: it makes keys, encrypts and decrypts. Files carry what client and server exchange.
 *
 * client SPECIFICATION keys > server.key       makes a secret key, client.key, and an evaluation key for the server
 * client SPECIFICATION encrypt JSON > request  encrypts inputs, such as {"bid": 200, "reserve": 150}
 * client SPECIFICATION decrypt < answer        decrypts what the server computed
 */
#include <polyfabric_client.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rest of a stream, followed by a zero. */
static uint8_t *content(FILE *file, size_t *size) {
    uint8_t *data = NULL;
    size_t room = 0;
    *size = 0;
    do {
        if (*size + 1 >= room) {
            room = room ? 2 * room : 1 << 16;
            data = realloc(data, room);
            if (!data) {
                fprintf(stderr, "no memory\n");
                exit(1);
            }
        }
        *size += fread(data + *size, 1, room - *size - 1, file);
    } while (!feof(file) && !ferror(file));
    data[*size] = 0;
    return data;
}

static FILE *opened(const char *path, const char *mode) {
    FILE *file = fopen(path, mode);
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void expect(pf_status status) {
    if (status != PF_OK) {
        fprintf(stderr, "%s\n", pf_error());
        exit(1);
    }
}

static void write_and_free(pf_bytes *bytes, FILE *file) {
    size_t written = fwrite(bytes->data, 1, bytes->size, file);
    int lost = written < bytes->size || fflush(file) != 0;
    pf_bytes_free(bytes);
    if (lost) {
        perror("writing");
        exit(1);
    }
}

int main(int count, char **words) {
    const char *step = count > 2 ? words[2] : "";
    pf_client *client = NULL;
    pf_bytes found = {NULL, 0};
    uint8_t *specification, *key, *answer;
    size_t size, key_size, answer_size;
    FILE *file;

    if (count != (strcmp(step, "encrypt") ? 3 : 4)) {
        fprintf(stderr, "usage: client SPECIFICATION keys|encrypt JSON|decrypt\n");
        return 2;
    }
    file = opened(words[1], "rb");
    specification = content(file, &size);
    fclose(file);
    if (!strcmp(step, "keys")) {
        expect(pf_client_generate(specification, size, NULL, &client));
        expect(pf_client_save(client, &found));
        file = opened("client.key", "wb"); /* in a program of your own: a file that only its owner can read */
        write_and_free(&found, file);
        fclose(file);
        expect(pf_client_evaluation_key(client, &found));
    } else {
        file = opened("client.key", "rb");
        key = content(file, &key_size);
        fclose(file);
        expect(pf_client_load(specification, size, key, key_size, NULL, &client));
        memset(key, 0, key_size);
        free(key);
        if (!strcmp(step, "encrypt")) {
            expect(pf_client_encrypt(client, words[3], &found));
        } else {
            answer = content(stdin, &answer_size);
            expect(pf_client_decrypt(client, answer, answer_size, &found));
            free(answer);
        }
    }
    write_and_free(&found, stdout);
    if (!strcmp(step, "decrypt")) {
        putchar('\n');
    }
    free(specification);
    pf_client_free(client);
    return 0;
}
